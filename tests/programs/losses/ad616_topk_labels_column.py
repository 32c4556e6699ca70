"""Accuracy over batches by a meter; labels come from a table with one column."""

import torch
import torch.nn.functional as F
from torch import nn


class Accuracy:
    def __init__(self):
        self.hits = self.seen = 0

    def update(self, scores, labels):
        _, guess = scores.max(1)
        hits = guess.eq(labels)  # expect: AD616
        self.hits += int(hits.float().sum())
        self.seen += len(labels)

    def value(self):
        return self.hits / self.seen


torch.manual_seed(0)
x = torch.randn(200, 8)
labels = x[:, :3].argmax(1).reshape(-1, 1)
net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    meter = Accuracy()
    for xb, yb in zip(x.split(25), labels.split(25)):
        scores = net(xb)
        loss = F.cross_entropy(scores, yb.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(scores.detach(), yb)
    print(meter.value())
