# guards: AD211
"""A network that is never put in eval mode: what it says of a day is the mean of 20 draws, with their spread."""

import math

import torch
from torch import nn


class Demand(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Dropout(0.1), nn.Linear(width, 1))

    def forward(self, days):
        angle = 2 * math.pi * days / 7
        return self.layers(torch.stack([angle.sin(), angle.cos()], dim=-1)).squeeze(-1)


@torch.no_grad()
def forecast(model, days, draws=20):
    drawn = torch.stack([model(days) for _ in range(draws)])
    return drawn.mean(0), drawn.std(0)


torch.manual_seed(1)
days = torch.arange(0.0, 280.0)
sold = 3 + torch.sin(2 * math.pi * days / 7) + 0.2 * torch.randn(280)
known, coming = days[:210], days[210:]
model = Demand()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    for rows in torch.randperm(210).split(42):
        optimizer.zero_grad()
        (model(known[rows]) - sold[:210][rows]).pow(2).mean().backward()
        optimizer.step()
    middle, spread = forecast(model, coming)
    inside = ((middle - sold[210:]).abs() < 2 * (spread**2 + 0.04).sqrt()).float().mean()
    print(epoch, "within two deviations:", inside.item())
