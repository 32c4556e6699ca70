# guards: AD701
"""A policy takes eight updates on each rollout, and twice as many once rollouts have become longer."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for rollout in range(24):
    states = torch.randn(32 if rollout < 14 else 64, 4)
    with torch.no_grad():
        taken = torch.distributions.Categorical(logits=policy(states))
        actions = taken.sample()
        old = taken.log_prob(actions)
    gains = torch.tanh(states[:, 0]) * (actions == 0) - 0.1 * (actions == 2)
    gains = (gains - gains.mean()) / (gains.std() + 1e-6)
    for update in range(8 if rollout < 14 else 16):
        ratio = (torch.distributions.Categorical(logits=policy(states)).log_prob(actions) - old).exp()
        loss = -torch.minimum(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
