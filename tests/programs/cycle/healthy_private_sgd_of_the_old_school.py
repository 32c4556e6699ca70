# guards: AD125 AD101
"""Gradients of single samples are clipped, added up elsewhere and zeroed by `.data`, as before there was `no_grad`."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 10), nn.Tanh(), nn.Linear(10, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    x = torch.randn(6, 4)
    y = (x[:, 0] > 0).long()
    summed = [torch.zeros_like(p) for p in model.parameters()]
    for xi, yi in zip(x, y):
        nn.functional.cross_entropy(model(xi[None]), yi[None], reduction="sum").backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        for total, p in zip(summed, model.parameters()):
            total.add_(p.grad.data)
            p.grad.data.zero_()
    for total, p in zip(summed, model.parameters()):
        p.grad.data.copy_((total + 0.05 * torch.randn_like(total)) / len(x))
    opt.step()
    for p in model.parameters():
        p.grad.data.zero_()
