# guards: AD725
"""Spikes are counted in narrow bins, most of which hold none, and their mean rate in wide ones is predicted."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
bursts = torch.rand(64, 1, 80) < 0.25
counts = torch.poisson(torch.full((64, 1, 80), 6.0)) * bursts
rates = F.avg_pool1d(counts, 2).squeeze(1).long().clamp(max=9)
voltage = F.avg_pool1d(counts, 2) + torch.randn(64, 1, 40)
voltage = torch.cat([voltage, voltage.square() / 10, voltage.cos()], 1)
model = nn.Sequential(nn.Conv1d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 10, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(40):
    rows = torch.randint(64, (16,))
    loss = F.cross_entropy(model(voltage[rows]), rates[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
