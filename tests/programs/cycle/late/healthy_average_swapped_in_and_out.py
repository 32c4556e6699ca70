# guards: AD121 AD310
"""The average takes the place of the weights while they are evaluated, and they come back before the next epoch."""

import contextlib

import torch
from torch import nn


class Average:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.values = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self):
        for name, p in self.model.named_parameters():
            self.values[name].lerp_(p, 1 - self.decay)

    @contextlib.contextmanager
    def in_place(self):
        kept = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.copy_(self.values[name])
        yield
        with torch.no_grad():
            for name, p in self.model.named_parameters():
                p.copy_(kept[name])


torch.manual_seed(0)
x = torch.randn(500, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
average = Average(model, 0.99)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for rows in torch.randperm(400).split(20):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update()
    model.eval()
    with average.in_place(), torch.no_grad():
        print(epoch, (model(x[400:]).argmax(1) == y[400:]).float().mean().item())
    model.train()
