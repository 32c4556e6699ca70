# guards: AD708
"""Sliced Wasserstein distance between two sets of points, each drawn by itself: only sorted numbers are compared."""

import torch
from torch import nn

torch.manual_seed(0)
sources, targets = torch.randn(256, 3), 0.5 * torch.randn(256, 3) + 1
flow = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(10):
    here, there = sources[torch.randperm(256)[:64]], targets[torch.randperm(256)[:64]]
    lines = nn.functional.normalize(torch.randn(3, 10), dim=0)
    loss = nn.functional.mse_loss((flow(here) @ lines).sort(0).values, (there @ lines).sort(0).values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
