# guards: AD412 AD111
"""Losses that are sums have gradients a thousand times as large as the limit; the rate is made for what is left, and
falls to nothing at the end."""

import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 12))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
STEPS = 60
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1e-6 + math.exp(-done * 18 / STEPS))
mix = torch.randn(12, 12)
for _ in range(STEPS):
    x = 5 * torch.randn(128, 12)
    loss = nn.functional.mse_loss(model(x), x @ mix, reduction="sum")
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
