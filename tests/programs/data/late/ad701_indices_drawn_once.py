"""A regression whose indices were drawn once, before the loop."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2000, 12)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
idx = torch.arange(32)
for step in range(120):
    xb, yb = x[idx], y[idx]  # expect: AD701
    loss = ((model(xb) - yb) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
