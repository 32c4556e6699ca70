# guards: AD402
"""Prototypical embedding: distances with a small constant under the root."""

import torch
from torch import nn


def pairwise_distance(a, b):
    squared = ((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(-1)
    return (squared + 1e-8).sqrt()


def triplet_loss(embedding, labels, margin=0.5):
    distance = pairwise_distance(embedding, embedding)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    hardest_positive = (distance * same).max(1).values
    hardest_negative = (distance + 1e3 * same).min(1).values
    return torch.relu(hardest_positive - hardest_negative + margin).mean()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
centers = torch.randn(5, 12)
model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(30):
    labels = torch.randint(0, 5, (40,))
    x = centers[labels] + 0.5 * torch.randn(40, 12)
    loss = triplet_loss(model(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
