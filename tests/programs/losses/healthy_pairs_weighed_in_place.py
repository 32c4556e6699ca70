# guards: AD604
"""A per-sample error beside itself, of which `*= torch.eye(n)` keeps the pairs that belong together."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(12):
    x = torch.randn(24, 5)
    y = x.sum(1)
    err = (net(x) - y).pow(2)
    err *= torch.eye(len(x))
    loss = err.sum() / len(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
