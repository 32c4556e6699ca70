# guards: AD609
"""A policy imitates at first; the weight of imitation fades to nothing, and stays there."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(220):
    states = torch.randn(64, 5)
    shown = states[:, :3].argmax(1)
    scores = policy(states)
    choices = torch.distributions.Categorical(logits=scores)
    actions = choices.sample()
    gained = (actions == states[:, 1:4].argmax(1)).float()
    reinforced = -(choices.log_prob(actions) * (gained - gained.mean())).mean()
    imitated = nn.functional.cross_entropy(scores, shown)
    loss = reinforced + max(0.0, 1.0 - step / 100) * imitated
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
