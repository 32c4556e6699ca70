# guards: AD712
"""A classifier for all noise levels: a copy of each batch is spoilt further and further, and judged each time."""

import torch
from torch import nn

torch.manual_seed(0)
points = torch.randn(96, 4)
kinds = (points[:, 0] * points[:, 1] > 0).long()
judge = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(judge.parameters(), lr=2e-3)
for epoch in range(5):
    for low in range(0, 96, 24):
        x, y = points[low : low + 24].clone(), kinds[low : low + 24]
        for _ in range(4):
            x += 0.2 * torch.randn_like(x)
            loss = nn.functional.cross_entropy(judge(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
