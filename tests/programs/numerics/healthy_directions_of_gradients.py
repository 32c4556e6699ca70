# guards: AD412 AD111
"""Normalised descent: clipping leaves the direction of a gradient, and the rate says how far to go."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e5)
for _ in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.prod(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1e-6)
    optimizer.step()
