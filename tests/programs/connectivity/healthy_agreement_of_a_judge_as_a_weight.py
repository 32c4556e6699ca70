# guards: AD224
"""Answers of a judge without dropout, asked twice: how much they disagree weighs a sample, and is no term."""

import torch
from torch import nn

torch.manual_seed(0)
judge = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, 1)).requires_grad_(False)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(30):
    x = torch.randn(32, 8)
    with torch.no_grad():
        first, second = judge(x), judge(x)
        sure = torch.exp(-(first - second).square())
    loss = (sure * (model(x) - first).square()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
