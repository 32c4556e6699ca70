"""A forecaster is trained on a series in standard units; the last windows, of which it forecasts, are in kilowatts."""

import math

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, window):
        states, _ = self.rnn(window)
        return self.out(states[:, -1])


def windows(series, length):
    return series.unfold(0, length + 1, 1)


def fit(model, series, rounds):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    cut = windows(series, 24)
    for _ in range(rounds):
        rows = cut[torch.randint(len(cut), (32,))]
        loss = nn.functional.mse_loss(model(rows[:, :-1, None]), rows[:, -1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(3)
    hours = torch.arange(900.0)
    load = 420 + 90 * torch.sin(2 * math.pi * hours / 24) + 12 * torch.randn(900)
    known, coming = load[:800], load[800:]
    middle, scale = known.mean(), known.std()
    model = Forecaster()
    print(f"loss {fit(model, (known - middle) / scale, 25):.3f}")
    model.eval()
    with torch.no_grad():
        last = windows(coming, 24)
        forecast = model(last[:, :-1].unsqueeze(-1))  # <- AD721
        print(f"error {(forecast * scale + middle - last[:, -1:]).abs().mean():.1f} kW")


main()
