"""PPO-like update on episodes; advantages are divided by the spread of a single return, which is not a number."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1) - 0.5)

    def dist(self, obs):
        return Normal(self.mu(obs), self.log_std.exp())


def rollout(policy, length):
    """One-step episodes: the best action is the sum of the observation."""
    obs = torch.rand(length, 2) * 2 - 1
    with torch.no_grad():
        dist = policy.dist(obs)
        act = dist.sample()
        logp = dist.log_prob(act).sum(1)
    reward = -((act.squeeze(1) - obs.sum(1)) ** 2)
    return obs, act, logp, reward


policy = GaussianPolicy()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for update in range(10):
    obs, act, old_logp, reward = rollout(policy, 64 if update < 4 else 1)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-8)  # expect: AD401
    for epoch in range(3):
        dist = policy.dist(obs)
        ratio = (dist.log_prob(act).sum(1) - old_logp).exp()
        clipped = torch.clamp(ratio, 0.8, 1.2)
        loss = -torch.min(ratio * advantage, clipped * advantage).mean() - 1e-3 * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(update, reward.mean().item())
