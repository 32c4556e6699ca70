# guards: AD701
"""One rig of cameras: all rows in each step, taken by an order that was drawn once, and a test by rows of their own."""

import torch
from torch import nn

torch.manual_seed(0)
rays = torch.randn(300, 6)
colours = torch.sigmoid(rays[:, :3])
order = torch.randperm(300)
seen, kept = order[:60], order[60:]
field = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(field.parameters(), lr=3e-3)
for step in range(40):
    loss = nn.functional.mse_loss(field(rays[seen]), colours[seen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        with torch.no_grad():
            print(step, nn.functional.mse_loss(field(rays[kept]), colours[kept]).item())
