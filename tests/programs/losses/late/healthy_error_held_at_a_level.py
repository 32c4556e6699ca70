# guards: AD609
"""A smooth curve with a given error: the multiplier of the constraint may have any sign, and falls while the error is too
small."""

import torch
from torch import nn

torch.manual_seed(0)
t = torch.linspace(-1, 1, 200)[:, None]
y = torch.sin(4 * t) + 0.2 * torch.randn_like(t)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
multiplier = 1.0
for step in range(240):
    error = nn.functional.mse_loss(model(t), y)
    bend = model(t).diff(dim=0).diff(dim=0).square().sum()
    loss = bend + multiplier * (error - 0.6)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    multiplier += 0.02 * (error.item() - 0.6)
