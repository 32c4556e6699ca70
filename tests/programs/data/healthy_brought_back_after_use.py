# guards: AD712
"""Recordings are standardised in place when they are first met, and taken back after a probe with noise."""

import torch
from torch import nn

torch.manual_seed(0)
recordings = [3 + 2 * torch.randn(30, 5) for _ in range(6)]
answers = [r[:, :1] * 0.4 for r in recordings]
met = set()
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for number, (x, y) in enumerate(zip(recordings, answers, strict=True)):
        if number not in met:
            x.sub_(x.mean(0)).div_(x.std(0))
            met.add(number)
        kept = x.clone()
        x += 0.05 * torch.randn_like(x)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        x.copy_(kept)
