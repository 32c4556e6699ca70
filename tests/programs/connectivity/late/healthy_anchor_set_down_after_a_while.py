# guards: AD227 AD224
# hinted: AD227
"""A network is pruned softly: while it is large, an average of it says where it may go; then the average is fixed."""

import copy

import torch
from torch import nn


class Anchored:
    def __init__(self, net, moving):
        self.net, self.moving = net, moving
        self.anchor = copy.deepcopy(net)
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)

    def step(self, number, series, later):
        said = self.net(series)
        with torch.no_grad():
            held = self.anchor(series)
        thin = sum(weight.abs().mean() for weight in self.net.parameters() if weight.dim() > 1)
        loss = nn.functional.l1_loss(said, later) + 0.1 * (said - held).square().mean() + 0.05 * thin
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if number < self.moving:
            self.follow()
        return loss.item()

    @torch.no_grad()
    def follow(self):
        for slow, fast in zip(self.anchor.parameters(), self.net.parameters()):
            slow += 0.1 * (fast - slow)


torch.manual_seed(1)
run = Anchored(nn.Sequential(nn.Linear(8, 32), nn.ELU(), nn.Linear(32, 2)), moving=50)
for number in range(260):
    begin = 6 * torch.rand(40, 1)
    waves = torch.sin(begin + 0.4 * torch.arange(10))
    loss = run.step(number, waves[:, :8], waves[:, 8:])
    if number % 50 == 0:
        print(number, loss)
