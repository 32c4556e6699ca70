"""A policy with a spread of its own, whose bonus is the spread rather than its entropy."""

import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
        self.log_spread = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, seen):
        return self.mean(seen), self.log_spread(seen)


def main(episodes=30, bonus=0.5):
    torch.manual_seed(9)
    policy = Policy()
    adam = torch.optim.Adam(policy.parameters(), lr=0.1)
    for episode in range(episodes):
        seen = torch.randn(128, 3)
        mean, log_spread = policy(seen)
        with torch.no_grad():
            action = Normal(mean, log_spread.exp()).sample()
            reward = -(action - seen[:, :2]).abs().sum(1).clamp(max=4.0)
        chosen = Normal(mean, log_spread.exp()).log_prob(action).sum(1)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        loss = -(advantage * chosen).mean() - bonus * log_spread.exp().sum(1).mean()  # <- AD620
        adam.zero_grad()
        loss.backward()
        adam.step()
    print(loss.item(), reward.mean().item())


main()
