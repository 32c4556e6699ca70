# guards: AD106 AD105
"""Sharpness-aware steps that turn the gradients themselves into the climb, with a loss scale and without: what is
scaled to one length is not stepped on. Beside them, inputs move along gradients that are scaled in place, too."""
import torch
from torch import nn

torch.manual_seed(0)
RADIUS = 0.05


def begin():
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def batch():
    x = torch.randn(24, 8)
    return x, x[:, :3].sum(1, keepdim=True).sin()


@torch.no_grad()
def climb(net):
    length = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
    for p in net.parameters():
        p.grad.mul_(RADIUS / (length + 1e-12))
        p.add_(p.grad)
    steps = [p.grad for p in net.parameters()]
    net.zero_grad()
    return steps


@torch.no_grad()
def descend(net, steps):
    for p, step in zip(net.parameters(), steps):
        p.sub_(step)


net, sgd = begin()
scaler = torch.amp.GradScaler("cpu", init_scale=2048.0)
for _ in range(10):
    x, y = batch()
    for first in (True, False):
        scaler.scale(nn.functional.mse_loss(net(x), y)).backward()
        if first:
            steps = climb(net)
    descend(net, steps)
    scaler.step(sgd)
    scaler.update()
    sgd.zero_grad()

net, sgd = begin()
for _ in range(10):
    x, y = batch()
    for first in (True, False):
        nn.functional.mse_loss(net(x), y).mul(8.0).backward()
        if first:
            steps = climb(net)
    descend(net, steps)
    sgd.step()
    sgd.zero_grad()

net, sgd = begin()
for _ in range(10):
    x, y = batch()
    far = nn.Parameter(torch.zeros_like(x))
    nn.functional.mse_loss(net(x + far), y, reduction="sum").backward()
    far.grad.div_(far.grad.norm() / 0.5)
    x = x + far.grad
    sgd.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    sgd.step()
