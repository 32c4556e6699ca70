# guards: AD614
"""A policy whose mean is bounded and whose actions are drawn around it, with the density written by hand."""

import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU())
        self.mu, self.v = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return torch.tanh(self.mu(h)), self.v(h)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
sigma = 0.6
for episode in range(12):
    states = torch.randn(40, 3)
    with torch.no_grad():
        mean, _ = policy(states)
        actions = mean + sigma * torch.randn_like(mean)
    rewards = -((actions - states[:, :1]) ** 2)
    mean, value = policy(states)
    log_prob = -((actions - mean) ** 2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
    advantage = (rewards - value).detach()
    loss = -(log_prob * advantage).mean() + 0.5 * (rewards - value).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
