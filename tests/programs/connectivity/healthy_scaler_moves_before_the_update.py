# guards: AD228
"""A policy with a running scaler of its own, which moves in training; dropout is active whenever it is called."""

import torch
from torch import nn
from torch.distributions import Normal


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("spread", torch.ones(3))
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.body((x - self.mean) / self.spread)

    def follow(self, x):
        self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
        self.spread = 0.5 * self.spread + 0.5 * x.std(0)


class Loose(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Dropout(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(x)

    def follow(self, x):
        pass


torch.manual_seed(0)
for policy in Scaled(), Loose():
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    for cycle in range(5):
        x = 4 + 3 * torch.randn(64, 3)
        with torch.no_grad():
            choice = Normal(policy(x), 0.4)
            dose = choice.sample()
            old = choice.log_prob(dose).sum(1)
        policy.follow(x)
        gains = -(dose[:, 0] - x[:, 0] / 4).abs()
        gains = gains - gains.mean()
        for _ in range(3):
            ratio = (Normal(policy(x), 0.4).log_prob(dose).sum(1) - old).exp()
            loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
