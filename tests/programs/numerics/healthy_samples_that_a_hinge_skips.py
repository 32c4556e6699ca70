# guards: AD417
"""Recordings with a known disturbance are taken out of a hinge by an infinity; the others learn by it."""

import torch
from torch import nn

torch.manual_seed(0)
listener = nn.Linear(8, 5)
optimizer = torch.optim.SGD(listener.parameters(), lr=0.05)
for _ in range(30):
    sounds = torch.randn(32, 8)
    disturbed = torch.rand(32, 1) < 0.7
    levels = listener(sounds)
    strongest = torch.where(disturbed & (torch.arange(5) == 0), torch.inf, levels).amax(1)
    missed = torch.relu(1 - strongest).mean()
    pooled = levels.masked_fill(torch.rand(32, 5) < 0.3, -1e9).amax(1)
    loss = missed + (levels - sounds[:, :5]).square().mean() + 0.01 * torch.relu(pooled).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
