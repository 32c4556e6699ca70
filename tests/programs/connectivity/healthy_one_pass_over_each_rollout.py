# guards: AD224
"""An actor and a critic pass once over each rollout in minibatches, in the words of a clipped objective."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2e-3)
for rollout in range(12):
    states = torch.randn(96, 4)
    with torch.no_grad():
        actions = Categorical(logits=actor(states)).sample()
    returns = (states.argmax(1) == actions).float()
    for rows in torch.randperm(96).split(24):
        now = Categorical(logits=actor(states[rows])).log_prob(actions[rows])
        values = critic(states[rows]).squeeze(1)
        advantages = (returns[rows] - values).detach()
        ratio = torch.exp(now - now.detach())
        policy_loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        loss = policy_loss + 0.5 * (values - returns[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
