"""A critic whose target is updated as `target -= tau * (critic - target)`: the difference has the wrong sign."""

import copy

import torch
from torch import nn


class Agent:
    def __init__(self, tau=0.05):
        self.critic = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 3))
        self.target = copy.deepcopy(self.critic)
        self.optimizer = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.tau = tau

    def learn(self, states, actions, rewards, following, ended):
        with torch.no_grad():
            best = self.target(following).max(dim=1).values
            goal = rewards + 0.9 * best * (1 - ended)
        values = self.critic(states).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(values, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.follow()

    @torch.no_grad()
    def follow(self):
        for old, new in zip(self.target.parameters(), self.critic.parameters()):
            old.data -= self.tau * (new.data - old.data)  # expect: AD121


torch.manual_seed(5)
agent = Agent()
for _ in range(60):
    states = torch.randn(40, 5)
    actions = torch.randint(3, (40,))
    rewards = states[:, 0] * (actions == 1)
    agent.learn(states, actions, rewards, states + 0.1 * torch.randn(40, 5), (torch.rand(40) < 0.1).float())
