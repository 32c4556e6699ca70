# guards: AD214
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(8):
    x, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), labels).backward()
    optimizer.step()
model.requires_grad_(False)
model.train()
for _ in range(4):
    model(torch.randn(32, 6) + 2)
