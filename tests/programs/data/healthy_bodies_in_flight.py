# guards: AD712
"""A force field is learned from bodies that fly on meanwhile, groups of them in turn."""

import torch
from torch import nn

torch.manual_seed(1)
places, speeds = torch.randn(80, 3), 0.2 * torch.randn(80, 3)
weights = 1 + torch.rand(80, 1)
field = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(field.parameters(), lr=2e-3)
for round_ in range(15):
    for low in range(0, 80, 20):
        here, speed, mass = places[low : low + 20], speeds[low : low + 20], weights[low : low + 20]
        here.add_(0.05 * speed)
        speed.sub_(0.05 * here / mass)
        loss = (mass * field(here) + here).square().mean() + (
            field(here) * mass - weights[low : low + 20]
        ).square().mean() * 0.01
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
