# guards: AD627
"""Sensors of a plant, minute after minute: neighbours are alike, and today's must find the same minute of yesterday."""
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
minutes = torch.arange(960)
load = torch.stack([torch.sin(2 * math.pi * minutes / period) for period in (960, 411, 137, 53)], dim=1)
mix = torch.randn(2, 4, 10)


class Plant(nn.Module):
    def __init__(self):
        super().__init__()
        self.days = nn.ModuleList([nn.Linear(10, 32), nn.Linear(10, 32)])
        self.joint = nn.Linear(32, 12)

    def forward(self, yesterday, today):
        both = torch.cat([self.days[0](yesterday), self.days[1](today)])
        return F.normalize(self.joint(torch.tanh(both)), dim=1)


plant = Plant()
optimizer = torch.optim.Adam(plant.parameters(), lr=1e-3)
for step in range(50):
    at = int(torch.randint(0, 900, (1,)))
    hour = load[at : at + 60]
    yesterday, today = (hour @ each + 0.05 * torch.randn(60, 10) for each in mix)
    z = plant(yesterday, today)
    scores = z[:60] @ z[60:].t() / 0.1
    loss = F.cross_entropy(scores, torch.arange(60))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
