import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(12):
    inputs = x[torch.randint(120, (16,))]
    targets = y[torch.randint(120, (16,))]  # expect: AD708
    loss = nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
