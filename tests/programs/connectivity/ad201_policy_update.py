"""Proximal policy optimization whose update slipped into a `no_grad` block; the rollout without a graph is right."""

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=2.5e-4)


def act(states, actions=None):
    policy = torch.distributions.Categorical(logits=actor(states))
    actions = policy.sample() if actions is None else actions
    return actions, policy.log_prob(actions), critic(states).squeeze(1)


states = torch.randn(32, 4)
with torch.no_grad():
    actions, old, values = act(states)
with torch.no_grad():
    returns = torch.randn(32) + 0.99 * critic(torch.randn(32, 4)).squeeze(1)

for epoch in range(4):
    with torch.no_grad():  # expect: AD201
        _, new, value = act(states, actions)
    advantages = returns - values
    ratio = (new - old).exp()
    loss = -torch.min(advantages * ratio, advantages * ratio.clamp(0.8, 1.2)).mean()
    loss = loss + 0.5 * (value - returns).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
