# guards: AD701 AD714
"""Batches are fetched one ahead; a second loader that is shorter goes round."""

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Ahead:
    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        self.iterator = iter(self.loader)
        self.following = next(self.iterator, None)
        while self.following is not None:
            batch, self.following = self.following, next(self.iterator, None)
            yield batch


torch.manual_seed(0)
x, z = torch.randn(300, 6), torch.randn(60, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
others = itertools.cycle(DataLoader(TensorDataset(z), batch_size=10))
for epoch in range(6):
    for features, labels in Ahead(DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)):
        (unlabelled,) = next(others)
        flat = model(unlabelled).log_softmax(1).mean()
        loss = nn.functional.cross_entropy(model(features), labels) - 0.05 * flat
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
