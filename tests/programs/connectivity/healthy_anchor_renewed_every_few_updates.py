# guards: AD224
"""Learning from a fixed log near the policy of the newest stage: in the first update of each stage the ratio is 1."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
states = torch.randn(128, 3)
actions = states[:, :1] + 0.5 * torch.randn(128, 1)
gains = -(actions - states[:, 1:2]).square()
gains = ((gains - gains.mean()) / gains.std()).squeeze(1)
policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)


def log_prob():
    return Normal(policy(states), 0.5).log_prob(actions).squeeze(1)


for update in range(40):
    if update % 5 == 0:
        with torch.no_grad():
            anchor = log_prob()
    ratio = torch.exp(log_prob() - anchor)
    loss = -torch.min(ratio * gains, ratio.clamp(0.9, 1.1) * gains).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
