# guards: AD715
"""Importance-weighted bound, one observation at a time: it is stacked as often as samples are drawn for it."""

import math

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
observations = torch.randn(80, 2) @ torch.randn(2, 9)
observations -= observations.mean(0)
guess = nn.Sequential(nn.Linear(9, 24), nn.Tanh(), nn.Linear(24, 4))
explain = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 9))
optimizer = torch.optim.Adam([*guess.parameters(), *explain.parameters()], lr=3e-3)
for row in torch.randperm(80)[:30].tolist():
    x = torch.stack([observations[row]] * 16)
    mean, scale = guess(x).chunk(2, dim=1)
    posterior = Normal(mean, scale.exp())
    latent = posterior.rsample()
    weight = Normal(explain(latent), 0.5).log_prob(x).sum(1)
    weight = weight + (Normal(0.0, 1.0).log_prob(latent) - posterior.log_prob(latent)).sum(1)
    loss = math.log(16) - weight.logsumexp(0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
