"""Sharpness-aware minimisation in which the second gradients are cleared as well, before the base steps."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
base = torch.optim.SGD(net.parameters(), lr=0.05)
centres = torch.randn(3, 8)


def gradients(x, y):
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    return loss.item()


for step in range(20):
    y = torch.randint(0, 3, (40,))
    x = centres[y] + 0.7 * torch.randn(40, 8)
    loss = gradients(x, y)
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        climbs = [0.05 * p.grad / norm for p in net.parameters()]
        for p, climb in zip(net.parameters(), climbs):
            p.add_(climb)
    base.zero_grad()
    gradients(x, y)
    with torch.no_grad():
        for p, climb in zip(net.parameters(), climbs):
            p.sub_(climb)
    base.zero_grad()  # expect: AD102
    base.step()
    print(step, loss)
