# guards: AD102
# hinted: AD102
"""Prices with crashes: a batch whose gradient is far larger than usual is dropped, and all else goes on."""

import torch
from torch import nn

torch.manual_seed(2)
model = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
usual = None
for day in range(40):
    x = torch.randn(24, 5)
    crash = 40.0 if day % 4 == 3 else 0.0
    price = x[:, :2].sum(1, keepdim=True) + crash * torch.randn(24, 1)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), price).backward()
    size = float(torch.stack([each.grad.norm() for each in model.parameters()]).norm())
    if usual is not None and size > 5 * usual:
        optimizer.zero_grad()
    else:
        usual = size if usual is None else 0.9 * usual + 0.1 * size
    optimizer.step()
    schedule.step()
