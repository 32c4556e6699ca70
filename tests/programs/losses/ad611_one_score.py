import torch
from torch import nn

torch.manual_seed(0)
model, criterion = nn.Linear(6, 1), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    x = torch.randn(32, 6)
    label = (x.sum(1) > 0).float()
    loss = criterion(model(x).squeeze(1), label)  # expect: AD611
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
