# guards: AD414
"""A filter is tuned until its gain lies within a band about the one asked for; within the band nothing is left to do."""

import math

import torch
from torch import nn

torch.manual_seed(2)
frequencies = torch.linspace(0.05, 3.0, 40)
wanted = 1 / (1 + frequencies**2)
taps = nn.Parameter(0.1 * torch.randn(9))
optimizer = torch.optim.Adam([taps], lr=0.02)
phase = torch.outer(torch.arange(9.0), frequencies)
for turn in range(260):
    gain = (taps @ torch.cos(phase)).square() + (taps @ torch.sin(phase)).square()
    beyond = (gain.clamp(min=1e-9).sqrt() - wanted).abs() - 0.25
    cost = 1.5 + 10 * torch.relu(beyond).mean()
    optimizer.zero_grad()
    cost.backward()
    optimizer.step()
    if turn % 20 == 0:
        print(turn, cost.item(), math.degrees(float(phase[1, 0])))
