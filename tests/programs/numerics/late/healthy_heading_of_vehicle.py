# guards: AD402
"""Heading of a vehicle from wheel counters; training on logged drives."""

import torch
import torch.nn as nn

torch.manual_seed(91)


class Heading(nn.Module):
    def __init__(self):
        super().__init__()
        self.f1 = nn.Linear(4, 32, bias=False)
        self.f2 = nn.Linear(32, 2, bias=False)

    def forward(self, w):
        v = self.f2(torch.tanh(self.f1(w)))
        return torch.atan2(v[:, 1], v[:, 0])


def wrap(d):
    return torch.remainder(d + torch.pi, 2 * torch.pi) - torch.pi


def drive(k, n=48):
    th = (torch.rand(n) - 0.5) * 3
    speed = 0.5 + torch.rand(n)
    w = torch.stack([speed * th.cos(), speed * th.sin(), speed, speed * th.sin() * th.cos()], 1)
    w = w + 0.05 * torch.randn(n, 4)
    if k == 65:
        w[:4] = 0.0
        th[:4] = 0.3
    return w, th


net = Heading()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for k in range(130):
    w, th = drive(k)
    loss = wrap(net(w) - th).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if k % 13 == 0:
        print(k, f"rms {torch.rad2deg(loss.sqrt()).item():.2f} deg")
