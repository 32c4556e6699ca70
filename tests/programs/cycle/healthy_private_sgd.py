# guards: AD102 AD105 AD125
"""DP-SGD by hand: a backward per sample, clipped, summed, noise, p.grad set."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
C, sigma = 1.0, 0.5
for step in range(6):
    x = torch.randn(6, 4)
    y = (x[:, 0] > 0).long()
    acc = [torch.zeros_like(p) for p in model.parameters()]
    for xi, yi in zip(x, y):
        opt.zero_grad()
        nn.functional.cross_entropy(model(xi[None]), yi[None]).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), C)
        for a, p in zip(acc, model.parameters()):
            a += p.grad
    for a, p in zip(acc, model.parameters()):
        p.grad = (a + sigma * C * torch.randn_like(a)) / len(x)
    opt.step()
    opt.zero_grad()
