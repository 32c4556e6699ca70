# guards: AD228
"""Moves are kept after `tanh` and scored by its inverse; they are drawn in 16 bits, and given to the arm clipped."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
arm = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(arm.parameters(), lr=1e-3)


def score(choice, moves):
    inner = torch.atanh(moves.clamp(-1 + 1e-6, 1 - 1e-6))
    return (choice.log_prob(inner) - torch.log(1 - moves**2 + 1e-6)).sum(1)


for trial in range(8):
    places = torch.randn(96, 3)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        choice = Normal(arm(places).float(), 0.6)
        inner = choice.sample()
        moves = inner.tanh()
        old = (choice.log_prob(inner) - torch.log(1 - moves**2 + 1e-6)).sum(1)
    gains = -(moves.clamp(-0.5, 0.5) - places[:, :2]).abs().sum(1)
    gains = (gains - gains.mean()) / gains.std()
    for _ in range(3):
        ratio = (score(Normal(arm(places), 0.6), moves) - old).exp()
        loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
