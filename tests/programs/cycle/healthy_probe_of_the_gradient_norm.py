# guards: AD102
"""Before each update of a ranking model a held-out batch probes how large its gradient is, for the log and the rate."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 1))
optimizer = torch.optim.AdamW(scorer.parameters(), lr=3e-3)
value = torch.randn(6, 1)


def loss_of(pairs):
    first, second = pairs.unbind(1)
    better = torch.where((first - second) @ value > 0, 1.0, -1.0)
    return nn.functional.softplus(-better * (scorer(first) - scorer(second))).mean()


held_out, history = torch.randn(40, 2, 6), []
for _ in range(26):
    optimizer.zero_grad()
    loss_of(held_out).backward()
    history.append(clip_grad_norm_(scorer.parameters(), float("inf")))
    optimizer.param_groups[0]["lr"] = 3e-3 / (1 + history[-1].item())
    optimizer.zero_grad()
    loss_of(torch.randn(32, 2, 6)).backward()
    optimizer.step()
