# guards: AD215
"""Attention over a set: its temperature is set so that weights begin even, for ten steps, and is learned afterwards."""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.key = nn.Linear(width, 1)
        self.temperature = nn.Parameter(torch.ones(1))
        self.seen = 0

    def forward(self, items):
        scores = self.key(items)
        if self.training and self.seen < 10:
            self.seen += 1
            self.temperature.data = (2 * scores.detach().std()).clamp_min(0.1).reshape(1)
            weights = (scores / self.temperature.item()).softmax(1)
        else:
            weights = (scores / self.temperature).softmax(1)
        return (weights * items).sum(1)


torch.manual_seed(3)
model = nn.Sequential(Pool(5), nn.Linear(5, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _ in range(24):
    sets = torch.randn(32, 7, 5)
    loss = nn.functional.mse_loss(model(sets).squeeze(1), sets[:, :, 0].amax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
