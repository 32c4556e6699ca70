# guards: AD701
"""Forecasting of a long signal, learned from its beginning and judged by windows of the rest."""

import torch
from torch import nn

torch.manual_seed(31)
signal = torch.sin(torch.arange(4000) / 7) + 0.1 * torch.randn(4000)


def block_of(series, at, windows=20, length=16):
    part = series[at : at + windows * length]
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
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        with torch.no_grad():
            table = signal.view(250, 16)
            print(step, forecast(table[torch.randperm(250)[:40]]).item())
