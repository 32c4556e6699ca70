# guards: AD224
"""Minibatches of a rollout, several times over: the clipped ratio is to itself, the weights are to the behaviour."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for rollout in range(8):
    states = torch.randn(64, 4)
    with torch.no_grad():
        drawn = Categorical(logits=policy(states))
        actions = drawn.sample()
        behaviour = drawn.log_prob(actions)
    gains = (states.argmax(1) == actions).float() - 0.4
    for update in range(4):
        now = Categorical(logits=policy(states)).log_prob(actions)
        with torch.no_grad():
            weights = torch.exp(now - behaviour).clamp(max=2.0)
        step_ratio = torch.exp(now - now.detach())
        surrogate = torch.min(step_ratio * gains, step_ratio.clamp(0.8, 1.2) * gains)
        loss = -(weights * surrogate).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
