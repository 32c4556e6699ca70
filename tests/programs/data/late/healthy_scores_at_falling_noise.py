# guards: AD703
"""Scores of a density at ten levels of noise, from coarse to fine, a stage for each (Song and Ermon, 2019)."""

import torch
from torch import nn

torch.manual_seed(0)
points = torch.randn(600, 2) * 0.05 + torch.tensor([[1.0, 1.0]])
model = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for level in torch.logspace(1, -2, 10).tolist():
    for step in range(26):
        clean = points[torch.randint(0, 600, (32,))]
        noise = torch.randn_like(clean)
        loss = (model(clean + level * noise) + noise).square().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
