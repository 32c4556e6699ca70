# guards: AD624
"""Embeddings are whitened over the batch, then each is brought to length 1; a term decorrelates what they say."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for _ in range(20):
    x = torch.randn(40, 14)
    one, other = encoder(x + 0.1 * torch.randn_like(x)), encoder(x + 0.1 * torch.randn_like(x))
    across = normalize(one - one.mean(0), dim=0).T @ normalize(other - other.mean(0), dim=0)
    alike = (across - torch.eye(10)).square().sum()
    white = (one - one.mean(0)) / (one.std(0) + 1e-4)
    scores = normalize(white, dim=1) @ normalize(other, dim=1).T / 0.1
    loss = cross_entropy(scores, torch.arange(40)) + 0.05 * alike
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
