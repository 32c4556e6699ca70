import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(model(x), (x[:, :4] > 0).float())  # expect: AD611
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
