# guards: AD623
"""A field is fitted at the same collocation points in each step, and drawn on a grid between epochs."""

import torch
from torch import nn

torch.manual_seed(2)
points = torch.rand(128, 2)
values = torch.sin(4 * points[:, :1]) * torch.cos(3 * points[:, 1:])
grid = torch.cartesian_prod(torch.linspace(0, 1, 9), torch.linspace(0, 1, 9))
field = nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32, momentum=0.95), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
for step in range(40):
    loss = nn.functional.mse_loss(field.train()(points), values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 7:
        with torch.no_grad():
            print(field.eval()(grid).abs().max().item())
