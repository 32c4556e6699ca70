# guards: AD617
"""Noisy copies of a batch whose errors are added up part by part: it is the same total, whatever the parts are."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(30):
    x = torch.randn(8, 6)
    copies = x.repeat(4, 1)
    error = (model(copies + 0.1 * torch.randn(32, 6)) - copies[:, :2]).square().sum(1)
    parts = error.view(8, 4).mean(1)
    large = (0.5 * parts + parts.neg() * 0.25).detach().sum()
    loss = parts.mean() + 0 * large
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
