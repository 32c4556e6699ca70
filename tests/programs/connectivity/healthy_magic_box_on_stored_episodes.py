# guards: AD224
"""Weighted likelihood of stored choices as DiCE writes it: the gradient of `exp(x - x.detach())`, which is 1, is all."""

import torch
from torch import nn


def magic_box(x):
    return torch.exp(x - x.detach())


torch.manual_seed(0)
states = torch.randn(64, 5, 3)
actions = (states.sum(-1) > 0).long() + (states[..., 0] > 1).long()
costs = (actions != 1).float() - states[..., 1].abs()
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for _ in range(40):
    log_probs = torch.distributions.Categorical(logits=policy(states)).log_prob(actions)
    so_far = log_probs.cumsum(dim=1)
    loss = (magic_box(so_far) * costs.clamp(-1, 1)).sum(1).mean() + 0.01 * log_probs.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
