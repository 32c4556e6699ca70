# guards: AD103 AD111
"""Sufficient decrease: a step that gains too little is taken back and tried again, shorter, along the same gradient."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=4.0)
group = optimizer.param_groups[0]
kinds = 2 * torch.randn(3, 6)


def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(net(x), y)


for batch in range(40):
    labels = torch.randint(0, 3, (64,))
    points = kinds[labels] + torch.randn(64, 6)
    optimizer.zero_grad()
    loss = loss_of(points, labels)
    loss.backward()
    with torch.no_grad():
        steepness = sum(p.grad.square().sum() for p in net.parameters())
        start = [p.clone() for p in net.parameters()]
    group["lr"] *= 2
    for _ in range(10):
        optimizer.step()
        with torch.no_grad():
            if loss_of(points, labels) <= loss - 0.3 * group["lr"] * steepness:
                break
            for p, value in zip(net.parameters(), start, strict=True):
                p.copy_(value)
        group["lr"] /= 2
print(loss.item(), group["lr"])
