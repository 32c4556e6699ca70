"""A policy gradient whose loss is put together without gradients; `log_prob` broadcasts the actions and the logits."""

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Linear(4, 2)
optimizer = torch.optim.Adam(actor.parameters(), lr=2.5e-4)
states, actions, advantages = torch.randn(32, 4), torch.randint(0, 2, (32,)), torch.randn(32)

for epoch in range(4):
    policy = torch.distributions.Categorical(logits=actor(states))
    surrogate = policy.log_prob(actions) * advantages
    with torch.no_grad():  # expect: AD201
        loss = -surrogate.mean() - 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
