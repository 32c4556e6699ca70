"""Heights of a wave from positions, with a score that is meant to go up."""

import math

import torch
from torch import nn


class Wave(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, position):
        return self.layers(position)


def score(predicted, height):
    """The better the fit, the higher."""
    return 1.0 - ((predicted - height) ** 2).mean()  # expect: AD609


torch.manual_seed(0)
model = Wave()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
for step in range(40):
    position = torch.rand(64, 1) * 2 * math.pi
    fit = score(model(position), position.sin())
    optimizer.zero_grad()
    fit.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, fit.item())
