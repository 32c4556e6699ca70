"""Forecasts of several series; the recurrent layer wants time in front."""

import numpy as np
import torch
from torch import nn

HORIZON, BATCH, WINDOW, FEATURES = 2, 16, 10, 3


def make_series(rng, count=200):
    start = rng.normal(size=(count, 1, FEATURES))
    drift = rng.normal(scale=0.1, size=(count, WINDOW + HORIZON, FEATURES)).cumsum(axis=1)
    return (start + drift).astype(np.float32)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(FEATURES, 20, nonlinearity="tanh")
        self.read = nn.Linear(20, HORIZON)

    def forward(self, window):
        steps = window.view(WINDOW, -1, FEATURES)  # expect: AD617
        outputs, _ = self.rnn(steps)
        return self.read(outputs[-1])


def train():
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    series = torch.from_numpy(make_series(rng))
    model = Forecaster()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    for iteration in range(30):
        picked = torch.from_numpy(rng.integers(0, len(series), BATCH))
        batch = series[picked]
        window, future = batch[:, :WINDOW], batch[:, WINDOW:, 0]
        loss = (model(window.contiguous()) - future).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if iteration % 10 == 0:
            print(iteration, round(loss.item(), 4))


train()
