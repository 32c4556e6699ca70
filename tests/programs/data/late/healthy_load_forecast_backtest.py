# guards: AD706
"""Backtest of a load forecast: each month is predicted before it is learned, and a chart shows how well the past fits."""

import torch
from torch import nn

torch.manual_seed(0)
hours = torch.arange(900.0)
load = 2 + torch.sin(hours / 3.8) + 0.5 * torch.cos(hours / 26) + 0.1 * torch.randn(900)
days = load.unfold(0, 25, 1)
past, ahead = days[:, :24], days[:, 24:]
model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()
scores = []
for known in range(300, 800, 100):
    for _ in range(3):
        for begin in range(0, known, 50):
            loss = criterion(model(past[begin : begin + 50]), ahead[begin : begin + 50])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        month = slice(known, known + 100)
        scores.append(criterion(model(past[month]), ahead[month]).item())
        around = slice(known - 50, known + 50)
        print(known, scores[-1], "for the chart", criterion(model(past[around]), ahead[around]).item())
