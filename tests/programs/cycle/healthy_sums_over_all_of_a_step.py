# guards: AD124
"""Micro-batches of very different lengths, weighed by their tokens: as sums over all of them, and as means times a share."""

import torch
import torch.nn.functional as F
from torch import nn


def batches():
    for _ in range(24):
        length = 4 if torch.rand(()) < 0.5 else 40
        tokens = torch.randint(1, 20, (6, length + 2))
        tokens[::2, -2:] = 0
        yield tokens


torch.manual_seed(0)
texts = list(batches())
model = nn.Sequential(nn.Embedding(20, 12), nn.Linear(12, 20))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(24):
    window = [texts[i] for i in torch.randperm(24)[:4].tolist()]
    counts = [int((text[:, 1:] != 0).sum()) for text in window]
    optimizer.zero_grad()
    for text, count in zip(window, counts):
        scores, targets = model(text[:, :-1]).reshape(-1, 20), text[:, 1:].reshape(-1)
        if step % 2:
            loss = F.cross_entropy(scores, targets, ignore_index=0, reduction="sum") / sum(counts)
        else:
            loss = F.cross_entropy(scores, targets, ignore_index=0) * (count / sum(counts))
        loss.backward()
    optimizer.step()
