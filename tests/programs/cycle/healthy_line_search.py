# guards: AD111 AD116
"""Backtracking line search by hand: rejected trials restore the weights; proximal soft threshold."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
x = torch.randn(40, 3)
y = x.prod(1, keepdim=True)
f = lambda: (net(x) - y).pow(2).mean()
for it in range(8):
    net.zero_grad()
    start = f()
    start.backward()
    g2 = sum(p.grad.pow(2).sum() for p in net.parameters())
    t = 8.0
    with torch.no_grad():
        old = [p.clone() for p in net.parameters()]
        while True:
            for p, o in zip(net.parameters(), old):
                p.copy_(o - t * p.grad)
            if f() <= start - 0.5 * t * g2 or t < 1e-4:
                break
            t *= 0.5
        for p in net.parameters():
            p.copy_(p.sign() * (p.abs() - 1e-4 * t).clamp(min=0))
    print(it, start.item(), t)
