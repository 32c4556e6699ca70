# guards: AD714
"""Readings of a pump come in as they are made; what is left of the rounds when they end is a look at the model."""
from itertools import islice

import torch
from torch import nn


def readings(hours):
    for _ in range(hours):
        flow = torch.rand(16, 3)
        yield flow, (flow * torch.tensor([1.0, -0.5, 0.25])).sum(1, keepdim=True)


class Watch:
    def __init__(self, hours):
        self.stream = readings(hours)
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def learn(self, most):
        seen = 0
        for flow, head in islice(self.stream, most):
            loss = nn.functional.mse_loss(self.net(flow), head)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            seen += 1
        return seen


torch.manual_seed(7)
watch = Watch(hours=26)
for shift in range(0, 96, 8):
    if not watch.learn(8):
        break

# A second plant: all at once in the first round, and every round makes its own stream of it.
pump = nn.Linear(3, 1)
opt = torch.optim.SGD(pump.parameters(), lr=0.1)
kept = list(readings(6))
for turn in range(4):
    batches = zip(*zip(*kept, strict=True), strict=True)
    for flow, head in batches:
        opt.zero_grad()
        nn.functional.mse_loss(pump(flow), head).backward()
        opt.step()

probe, truth = next(readings(1))
with torch.no_grad():
    print((watch.net(probe) - truth).abs().mean(), (pump(probe) - truth).abs().mean())
