# guards: AD302
"""A total per epoch in a list of statistics, without graphs."""

import torch
from torch import nn


def epoch(model, opt, loader):
    stats = [0.0, 0]
    try:
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.l1_loss(model(x), y)
            reg = sum(p.pow(2).sum() for p in model.parameters())
            full = loss + 1e-4 * reg
            full.backward()
            opt.step()
            stats[0] += full.detach() * len(x)
            stats[1] += len(x)
    finally:
        print("mean", float(stats[0] / max(1, stats[1])))
    return stats


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 30), nn.Softplus(), nn.Linear(30, 2))
opt = torch.optim.Adam(model.parameters(), 1e-3)
loader = [(torch.randn(16, 4), torch.randn(16, 2)) for _ in range(10)]
for _e in range(2):
    epoch(model, opt, loader)
