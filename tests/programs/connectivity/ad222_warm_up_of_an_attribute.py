"""A warm-up in a helper of an agent sets the rate of its optimizer where nothing looks for it."""

import torch
from torch import nn


class Agent:
    def __init__(self, rate=1e-3, warm_up=16):
        self.q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.optimizer = torch.optim.AdamW(self.q.parameters(), lr=rate)
        self.rate, self.warm_up, self.updates = rate, warm_up, 0

    def warm(self):
        setattr(self.optimizer, "lr", self.rate * min(1.0, (self.updates + 1) / self.warm_up))  # expect: AD222

    def update(self, states, actions, rewards):
        self.warm()
        self.updates += 1
        values = self.q(states).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(values, rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
agent = Agent()
for episode in range(24):
    states, actions = torch.randn(32, 4), torch.randint(0, 2, (32,))
    print(episode, agent.update(states, actions, states[:, 0] * (2 * actions - 1)))
