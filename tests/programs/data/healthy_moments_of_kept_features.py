# guards: AD728
"""Batches of features are drawn to the spread of kept batches, sorted value by value: whose they are does not matter."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(160, 10)), batch_size=20, shuffle=True)
frozen = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 20)).requires_grad_(False)
kept = [frozen(x) for (x,) in loader]
model = nn.Linear(10, 20)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    for (x,), features in zip(loader, kept, strict=True):
        found = model(x)
        spread = (found.sort(0).values - features.sort(0).values).square().mean()
        means = (found.mean(0) - features.mean(0)).square().mean()
        loss = spread + means
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
