# guards: AD712
"""Each epoch begins with a fresh copy of the series, of which it spoils windows where they lie."""

import torch
from torch import nn

torch.manual_seed(3)
series = torch.randn(96, 10).cumsum(1)
work = torch.empty_like(series)
filler = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 10))
optimizer = torch.optim.AdamW(filler.parameters(), lr=1e-3)
for epoch in range(10):
    work.copy_(series)
    for given, whole in zip(work.split(12), series.split(12), strict=True):
        given[torch.rand_like(given) < 0.2] = 0
        loss = nn.functional.smooth_l1_loss(filler(given), whole)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
