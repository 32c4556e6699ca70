# guards: AD703
"""A controller learns near the middle at first; each lesson begins ten times as far away from it as the one before."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for reach in (0.02, 0.2, 2.0):
    starts = reach * torch.randn(800, 3)
    pushes = -(starts * torch.tensor([1.0, 0.5, 0.1])).sum(1, keepdim=True)
    for step in range(70):
        rows = torch.randint(0, 800, (32,))
        loss = nn.functional.mse_loss(model(starts[rows]), pushes[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
