# guards: AD604 AD616
"""Columns where columns belong, and sizes that are equal by chance."""

import math

import torch
import torch.nn as nn

torch.manual_seed(0)
N = 16


class Radial(nn.Module):
    """As many centers as there are samples in a batch."""

    def __init__(self):
        super().__init__()
        self.centers = nn.Parameter(torch.linspace(-2, 2, N))
        self.out = nn.Linear(N, 1)

    def forward(self, x):
        return self.out(torch.exp(-((x - self.centers) ** 2)))


def positions(length, width):
    table = torch.zeros(length, width)
    moment = torch.arange(length).unsqueeze(1)
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
    table[:, 0::2] = torch.sin(moment * rates)
    table[:, 1::2] = torch.cos(moment * rates)
    return table


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.log_sigma = nn.Parameter(torch.randn(N)), nn.Parameter(torch.zeros(N))

    def forward(self, x):
        z = (x - self.mu) / self.log_sigma.exp()
        return -torch.logsumexp(-0.5 * z**2 - self.log_sigma - math.log(N), dim=1).mean()


rbf, mixture = Radial(), Mixture()
time = nn.Linear(2 * N, 1)
waves, heights = nn.Parameter(torch.zeros(N)), nn.Parameter(torch.randn(N))
left, right = nn.Parameter(torch.randn(N, 1)), nn.Parameter(torch.randn(N))
goal = torch.randn(N, N)
learned = [*rbf.parameters(), *mixture.parameters(), *time.parameters(), left, right, waves, heights]
optimizer = torch.optim.Adam(learned, lr=1e-2)
table = positions(N, 2 * N)
for step in range(20):
    x = torch.randn(N, 1)
    y = torch.sin(2 * x)
    fit = nn.functional.mse_loss(rbf(x), y) + ((time(table) - table[:, :1]) ** 2).mean()
    series = (waves * torch.sin(x * torch.arange(1, N + 1))).sum(1)
    bumps = (heights * torch.exp(-((x - rbf.centers) ** 2))).sum(1)
    fit = fit + ((series - y.squeeze(1)) ** 2).mean() + ((bumps - y.squeeze(1)) ** 2).mean()
    rank_one = ((left * right - goal) ** 2).mean()
    loss = fit + mixture(x) + rank_one
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        close = ((rbf(x) - y).abs() < 0.1).float().mean()
        sign = (rbf(x).sign() == y.sign()).sum().item() / N
    print(float(close), sign)
