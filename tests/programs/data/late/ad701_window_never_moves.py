"""Forecasting of a long signal: windows of it are cut out, a block of them for each step."""

import torch
from torch import nn

torch.manual_seed(31)
signal = torch.sin(torch.arange(4000) / 7) + 0.1 * torch.randn(4000)


def block_of(series, at, windows=20, length=16):
    part = series[at : at + windows * length]  # expect: AD701
    return part.reshape(windows, length)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(15, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, windows):
        return ((self.net(windows[:, :-1]) - windows[:, -1:]) ** 2).mean()


forecast = Forecast()
optimizer = torch.optim.Adam(forecast.parameters(), lr=3e-3)
offset = 0
for step in range(30):
    loss = forecast(block_of(signal, offset))
    next_offset = offset + 320
    if next_offset > len(signal) - 320:
        next_offset = 0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
