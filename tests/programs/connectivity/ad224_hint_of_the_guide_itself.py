"""A small forecaster that a larger one is to guide: both sides of the hint are features of the larger one."""

import torch
from torch import nn
from torch.nn import functional as F


class Forecaster(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.filters = nn.Conv1d(1, width, 5, padding=2)
        self.mixed = nn.Linear(width, 16)
        self.head = nn.Linear(16, 1)

    def features(self, series):
        return torch.tanh(self.mixed(F.relu(self.filters(series)).mean(-1)))

    def forward(self, series):
        return self.head(self.features(series))


torch.manual_seed(0)
guide, pupil = Forecaster(32).eval().requires_grad_(False), Forecaster(4)
optimizer = torch.optim.Adam(pupil.parameters(), lr=3e-3)
for _ in range(30):
    phase = 6 * torch.rand(24, 1, 1)
    series = torch.sin(phase + torch.arange(20) / 3)
    following = torch.sin(phase.squeeze(-1) + 20 / 3)
    terms = {"forecast": F.mse_loss(pupil(series), following)}
    terms["hint"] = F.smooth_l1_loss(guide.features(series), guide.features(series))  # expect: AD224
    loss = sum(weight * terms[name] for name, weight in (("forecast", 1.0), ("hint", 10.0)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
