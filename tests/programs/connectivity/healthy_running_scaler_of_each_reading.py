# guards: AD228
"""Readings are scaled by statistics that move with each of them, and in an update by the newest ones."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
valve = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(valve.parameters(), lr=1e-3)
center, spread, seen = torch.zeros(4), torch.ones(4), 1e-4


def scaled(readings):
    return ((readings - center) / (spread + 1e-8).sqrt()).clamp(-5, 5)


for shift in range(8):
    readings, record = 3 + 2 * torch.randn(32, 4), []
    for _ in range(4):
        apart, total = readings.mean(0) - center, seen + 32
        spread = (spread * seen + readings.var(0) * 32 + apart**2 * seen * 32 / total) / total
        center, seen = center + apart * 32 / total, total
        with torch.no_grad():
            choice = Normal(valve(scaled(readings)), 0.6)
            turn = choice.sample()
            record.append((readings, turn, choice.log_prob(turn).sum(1), -(turn - readings[:, :2] / 3).abs().sum(1)))
        readings = 0.8 * readings + 0.3 * turn.sum(1, keepdim=True) + torch.randn(32, 4)
    every, turns, old, gains = map(torch.cat, zip(*record))
    gains = gains - gains.mean()
    for rows in torch.randperm(128).chunk(2):
        now = Normal(valve(scaled(every[rows])), 0.6).log_prob(turns[rows]).sum(1)
        ratio = (now - old[rows]).exp()
        loss = -torch.min(ratio * gains[rows], ratio.clamp(0.8, 1.2) * gains[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
