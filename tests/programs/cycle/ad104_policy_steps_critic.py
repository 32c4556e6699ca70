"""Delayed policy update that steps the critic's optimizer."""

import torch
from torch import nn

torch.manual_seed(0)


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
        self.opts = {n: torch.optim.Adam(getattr(self, n).parameters(), 1e-3) for n in ("actor", "critic")}

    def q(self, s, a):
        return self.critic(torch.cat([s, a], 1))

    def minimise(self, loss, which):
        self.opts[which].zero_grad()
        loss.backward()  # expect: AD104
        self.opts[which].step()

    def learn(self, s, a, r):
        self.minimise((self.q(s, a) - r).pow(2).mean(), "critic")
        self.minimise(-self.q(s, self.actor(s)).mean(), "critic")


agent = Agent()
for i in range(10):
    s = torch.randn(16, 3)
    a = torch.rand(16, 1) * 2 - 1
    agent.learn(s, a, -(s.sum(1, keepdim=True) - a).pow(2))
