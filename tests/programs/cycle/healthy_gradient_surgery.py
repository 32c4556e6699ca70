# guards: AD102 AD304
"""Gradients per task over one graph, projected onto each other, before one backward for the heads."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
heads = nn.ModuleDict({n: nn.Linear(24, 1) for n in ("age", "score", "risk")})
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], 1e-3)
for _it in range(6):
    x = torch.randn(20, 8)
    h = trunk(x)
    losses = {n: (head(h) - x[:, i : i + 1]).square().mean() for i, (n, head) in enumerate(heads.items())}
    opt.zero_grad()
    per_task = []
    names = list(losses)
    for n in names:
        g = torch.autograd.grad(losses[n], list(trunk.parameters()), retain_graph=True)
        per_task.append(torch.cat([t.flatten() for t in g]))
    for i, g in enumerate(per_task):
        for j, o in enumerate(per_task):
            if i != j and (dot := g @ o) < 0:
                per_task[i] = g = g - dot / o.square().sum() * o
    sum(losses.values()).backward()
    flat, at = torch.stack(per_task).sum(0), 0
    for p in trunk.parameters():
        p.grad = flat[at : at + p.numel()].view_as(p).clone()
        at += p.numel()
    opt.step()
