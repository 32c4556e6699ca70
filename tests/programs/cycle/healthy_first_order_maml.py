# guards: AD109 AD116
"""Reptile: copies of the model adapt to tasks with optimizers of their own; the model moves towards them by hand."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))


def task():
    a, b = torch.rand(2)
    x = 4 * torch.rand(40, 1) - 2
    return x, (0.5 + a) * torch.sin(x + 3 * b)


for meta_step in range(10):
    x, y = task()
    fast = copy.deepcopy(model)
    inner = torch.optim.SGD(fast.parameters(), lr=0.02)
    for batch in torch.arange(40).split(10):
        loss = nn.functional.mse_loss(fast(x[batch]), y[batch])
        inner.zero_grad()
        loss.backward()
        inner.step()
    with torch.no_grad():
        for slow, quick in zip(model.parameters(), fast.parameters()):
            slow.add_(quick - slow, alpha=0.3)
    print(meta_step, loss.item())
