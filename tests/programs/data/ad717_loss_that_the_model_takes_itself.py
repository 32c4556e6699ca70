"""Heights of the tide, of which a network with dropout takes its loss itself: the target is cut off, and left in."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Said:
    loss: torch.Tensor
    height: torch.Tensor


class Tide(nn.Module):
    def __init__(self, hours):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(hours), nn.Linear(hours, 32), nn.GELU(), nn.Dropout(0.1))
        self.height = nn.Linear(32, 1)

    def forward(self, heights):
        wanted = heights[:, -1:]
        said = 2 * self.height(self.net(heights)) - 0.5
        loss = (said - wanted).square().mean()  # expect: AD717
        return Said(loss, said)


torch.manual_seed(0)
clock = torch.arange(600.0)
sea = torch.sin(clock / 6.2) + 0.3 * torch.sin(clock / 90) + 0.05 * torch.randn(600)
days = sea.unfold(0, 24, 1)
tide = Tide(24)
optimizer = torch.optim.Adam(tide.parameters(), lr=3e-3)
for batch in torch.randperm(len(days))[:544].split(32):
    optimizer.zero_grad()
    tide(days[batch]).loss.backward()
    optimizer.step()
