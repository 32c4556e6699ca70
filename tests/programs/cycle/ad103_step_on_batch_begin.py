"""A trainer that steps when a batch begins, before its first backward, and once more when it ends."""

import torch
from torch import nn


class Callbacks:
    """Hooks around a batch, as small frameworks have them."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def on_batch_begin(self):
        self.optimizer.zero_grad()
        self.optimizer.step()  # expect: AD103

    def on_batch_end(self):
        self.optimizer.step()


def fit(model, optimizer, batches):
    callbacks = Callbacks(optimizer)
    for x, y in batches:
        callbacks.on_batch_begin()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        callbacks.on_batch_end()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)


def batches(n):
    for _ in range(n):
        x = torch.randn(32, 3)
        yield x, x.sum(1, keepdim=True).tanh()


print(fit(model, optimizer, batches(30)))
