# guards: AD609
"""A normalising flow (RealNVP) on two moons; the loss is a log-likelihood that may well fall below zero."""
import math

import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, flip, hidden=24):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, x):
        a, b = x[:, :1], x[:, 1:]
        if self.flip:
            a, b = b, a
        log_s, t = self.net(a).chunk(2, dim=1)
        log_s = torch.tanh(log_s)
        b = b * log_s.exp() + t
        out = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return out, log_s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(layers))

    def log_prob(self, x):
        log_det = torch.zeros(x.size(0))
        for layer in self.layers:
            x, ld = layer(x)
            log_det = log_det + ld
        return log_det - 0.5 * (x**2).sum(1) - math.log(2 * math.pi)


def moons(n):
    side = torch.randint(0, 2, (n,))
    angle = math.pi * torch.rand(n)
    x = torch.where(side == 1, 1 - angle.cos(), angle.cos()) - 0.5
    y = torch.where(side == 1, 0.5 - angle.sin(), angle.sin()) - 0.25
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2)


torch.manual_seed(0)
flow = RealNVP()
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(40):
    loss = -flow.log_prob(moons(128)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
