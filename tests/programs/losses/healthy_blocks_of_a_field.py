# guards: AD617
"""Every point of a grid for every shape; values are also looked at in blocks, as many as points, of as many as shapes."""

import torch
from torch import nn

SHAPES, POINTS = 4, 16
torch.manual_seed(0)
latents = nn.Embedding(20, 5)
field = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*latents.parameters(), *field.parameters()], lr=3e-3)
grid = torch.rand(POINTS, 3)
for _ in range(30):
    picked = torch.randperm(20)[:SHAPES]
    points = torch.cat([grid.repeat(SHAPES, 1), latents(picked).repeat_interleave(POINTS, 0)], 1)
    filled = field(points).view(-1)
    weights = filled.view(SHAPES, POINTS).softmax(1)
    peaks = filled.view(SHAPES * 4, 4).amax(1)
    loss = (weights @ grid).square().sum(1).mean() + 0.1 * peaks.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
