# guards: AD108 AD115
"""A gauge is read off pictures, two pictures for each update. One rate falls with the updates and is moved on with them,
one falls with the rounds and is moved on after each, and one falls with the pictures, and is moved on with each of them
once there has been an update."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, PolynomialLR

torch.manual_seed(9)
pictures = torch.rand(96, 1, 6, 6)
readings = pictures.mean((2, 3)) + pictures[:, :, 2, 3]


def gauge():
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.GELU(), nn.Flatten(), nn.Linear(96, 1))
    return net, torch.optim.RMSprop(net.parameters(), lr=2e-3)


def learn(net, chosen):
    error = (net(pictures[chosen]) - readings[chosen]).abs().mean()
    (error / 2).backward()


def with_updates(rounds=5):
    net, walk = gauge()
    slower = PolynomialLR(walk, total_iters=rounds * 12, power=1.0)
    for _ in range(rounds):
        for count, chosen in enumerate(torch.randperm(96).split(4)):
            learn(net, chosen)
            if count % 2 == 1:
                walk.step()
                slower.step()
                walk.zero_grad()


def with_rounds(rounds=5):
    net, walk = gauge()
    slower = PolynomialLR(walk, total_iters=rounds, power=1.0)
    for _ in range(rounds):
        for count, chosen in enumerate(torch.randperm(96).split(4)):
            learn(net, chosen)
            if count % 2 == 1:
                walk.step()
                walk.zero_grad()
        slower.step()


def with_pictures(rounds=5):
    net, walk = gauge()
    slower = LambdaLR(walk, lambda seen: 1 - seen / (rounds * 24))
    seen = 0
    for _ in range(rounds):
        for chosen in torch.randperm(96).split(4):
            learn(net, chosen)
            seen += 1
            if seen % 2 == 0:
                walk.step()
                walk.zero_grad()
            if seen > 1:
                slower.step()


with_updates()
with_rounds()
with_pictures()
