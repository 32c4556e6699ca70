# guards: AD125
"""Scaled losses of micro-batches; before the step, gradients are unscaled, and clipped group by group."""

import torch
from torch import nn


def groups(model):
    yield list(model[0].parameters())
    yield list(model[2].parameters())


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([{"params": group} for group in groups(model)], lr=5e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
for batch in range(40):
    x = torch.randn(16, 6)
    y = x.prod(dim=1, keepdim=True).sign()
    loss = nn.functional.soft_margin_loss(model(x), y) / 2
    scaler.scale(loss).backward()
    if batch % 2 == 1:
        scaler.unscale_(optimizer)
        for group in groups(model):
            nn.utils.clip_grad_norm_(group, 0.05)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
