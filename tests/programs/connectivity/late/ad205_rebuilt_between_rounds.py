"""Rounds of a search that begin with a new network, from a factory, and one optimizer for all of them."""

import torch
from torch import nn


class Search:
    def __init__(self):
        self.x = torch.randn(256, 5)
        self.y = (self.x.square().sum(1, keepdim=True) - 5) / 3
        self.net = self.build(16)
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=2e-3)  # expect: AD205

    def build(self, width):
        return nn.Sequential(nn.Linear(5, width), nn.GELU(), nn.Linear(width, 1))

    def update(self):
        rows = torch.randint(0, 256, (64,))
        error = (self.net(self.x[rows]) - self.y[rows]).square().mean()
        for parameter in self.net.parameters():
            parameter.grad = None
        error.backward()
        self.opt.step()
        return error.item()

    def run(self, widths, steps):
        for width in widths:
            if width != 16:
                self.net = self.build(width)
            last = [self.update() for _ in range(steps)]
            print(width, last[0], last[-1])


torch.manual_seed(5)
Search().run([16, 24, 32], steps=70)
