# guards: AD218
"""Autoregressive Gaussian forecaster with scheduled sampling: now and then the next input is a draw from its own prediction."""
import random

import torch
from torch import nn
from torch.distributions import Normal


class DeepAR(nn.Module):
    def __init__(self, h=24):
        super().__init__()
        self.cell = nn.LSTMCell(1, h)
        self.mu, self.sigma = nn.Linear(h, 1), nn.Linear(h, 1)

    def forward(self, series, p_own):
        state, x, nll = None, series[:, :1], 0.0
        for t in range(1, series.size(1)):
            state = self.cell(x, state)
            d = Normal(self.mu(state[0]), nn.functional.softplus(self.sigma(state[0])) + 1e-2)
            y = series[:, t:t + 1]
            nll = nll - d.log_prob(y).mean()
            x = d.sample() if random.random() < p_own else y
        return nll / (series.size(1) - 1)


random.seed(0)
torch.manual_seed(0)
model = DeepAR()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(25):
    phase = 6.28 * torch.rand(32, 1)
    series = torch.sin(phase + 0.6 * torch.arange(14)) + 0.05 * torch.randn(32, 14)
    loss = model(series, p_own=min(0.3, step / 60))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 8 == 0:
        print(step, loss.item())
