# guards: AD709
# hinted: AD709
"""Gains of a kite's autopilot, tuned on gusts that stay the same from step to step, and tried on others at the end."""

import torch
from torch import nn


class Autopilot(nn.Module):
    def __init__(self):
        super().__init__()
        self.gains = nn.Parameter(torch.tensor([0.2, 0.0, 0.0]))

    def forward(self, tilt, rate, drift):
        return -(self.gains * torch.stack([tilt, rate, drift], 1)).sum(1)


def flight(pilot, kites, seed, seconds=12):
    """How far kites tilt, and how hard the pilot pulls."""
    torch.manual_seed(seed)
    tilt, rate, drift = torch.zeros(3, kites)
    cost = torch.zeros(())
    for _ in range(seconds):
        pull = pilot(tilt, rate, drift)
        rate = 0.8 * rate + pull + 0.3 * torch.randn(kites)
        tilt = tilt + 0.5 * rate + 0.1
        drift = 0.9 * drift + 0.1 * tilt
        cost = cost + tilt.square().mean() + 0.1 * pull.square().mean()
    return cost / seconds


pilot = Autopilot()
optimizer = torch.optim.RMSprop(pilot.parameters(), lr=0.01)
for step in range(40):
    cost = flight(pilot, 60, seed=2026)
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
with torch.no_grad():
    print("in other weather", [round(flight(pilot, 200, seed).item(), 3) for seed in (1, 2, 3)])
