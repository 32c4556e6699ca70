"""Policy with forbidden actions and an entropy bonus."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 5))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)


def distribution(obs, allowed):
    p = policy(obs).softmax(-1) * allowed
    return p / p.sum(-1, keepdim=True)


def entropy(p):
    return -(p * p.log()).sum(-1)  # expect: AD401


for episode in range(6):
    obs = torch.randn(12, 4)
    allowed = torch.ones(12, 5)
    allowed[:, 4] = (obs[:, 0] > 0).float()
    p = distribution(obs, allowed)
    action = torch.multinomial(p.detach(), 1)
    reward = (action.squeeze(1) == 2).float()
    objective = (p.gather(1, action).log().squeeze(1) * (reward - reward.mean())).mean() + 0.01 * entropy(p).mean()
    optimizer.zero_grad()
    (-objective).backward()
    optimizer.step()
    print(episode, reward.mean().item())
