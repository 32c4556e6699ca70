# guards: AD514
"""Warm-ups, timings, shapes that are only tried, calls for the sake of statistics, and results under `_`."""

import time

import torch
from torch import nn

torch.manual_seed(0)
a, b = torch.randn(64, 64), torch.randn(64, 64)
a * b
for _ in range(3):
    a @ b
model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 1))
with torch.no_grad():
    model(torch.randn(32, 8))


def fits(x, y):
    try:
        _ = x + y
    except RuntimeError:
        return False
    return True


class Traced(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty()
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        return gradient


optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
seconds = []
for step in range(40):
    x = torch.randn(32, 8)
    assert fits(x, x[:1])
    began = time.perf_counter()
    a @ b
    a.sum().item()
    seconds.append(time.perf_counter() - began)
    x.to(torch.float32)
    x.cpu()
    loss = nn.functional.mse_loss(Traced.apply(model(x)), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    torch.rand(3)
    optimizer.step()
