"""Weights that are exchanged for their average while a model is validated, and were to be put back afterwards."""

from contextlib import contextmanager

import torch
from torch import nn


class Average:
    def __init__(self, module, decay=0.9):
        self.module = module
        self.decay = decay
        self.values = {name: value.clone() for name, value in module.state_dict().items()}

    @torch.no_grad()
    def follow(self):
        for name, value in self.module.named_parameters():
            self.values[name].mul_(self.decay).add_(value, alpha=1 - self.decay)

    @contextmanager
    def in_use(self):
        live = {name: value.data for name, value in self.module.named_parameters()}  # <- AD310
        self.give(self.values)
        yield
        self.give(live)

    def give(self, values):
        for name, value in self.module.named_parameters():
            value.data.copy_(values[name])


torch.manual_seed(11)
net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
average = Average(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
held_out = torch.rand(64, 5)
for epoch in range(6):
    for _ in range(4):
        x = torch.rand(32, 5)
        loss = nn.functional.smooth_l1_loss(net(x), x.prod(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.follow()
    with average.in_use(), torch.no_grad():
        net.eval()
        error = nn.functional.smooth_l1_loss(net(held_out), held_out.prod(1, keepdim=True))
        net.train()
    print(f"epoch {epoch} loss {loss.item():.5f} held out {error.item():.5f}")
