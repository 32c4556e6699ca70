# guards: AD115
"""A smoke run: two epochs of a plan that warms up over forty."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LinearLR

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 12))
optimizer = torch.optim.AdamW(encoder.parameters(), lr=2e-2)
schedule = LinearLR(optimizer, start_factor=1 / 40, total_iters=39)
for epoch in range(2):
    for _ in range(30):
        patches = torch.randn(32, 12)
        hidden = torch.rand(32, 12) < 0.5
        loss = ((encoder(patches.masked_fill(hidden, 0)) - patches.roll(1, 1))[~hidden] ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    schedule.step()
    print(epoch, loss.item())
