"""A policy update: the gradients are cleared after the backward, so that clipping and step find none."""

import torch
from torch import nn

torch.manual_seed(0)
agent = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4)

for update in range(10):
    observations, advantages = torch.randn(32, 4), torch.randn(32)
    policy = torch.distributions.Categorical(logits=agent(observations))
    actions = policy.sample()
    loss = -(policy.log_prob(actions) * advantages).mean() - 0.01 * policy.entropy().mean()

    loss.backward()
    optimizer.zero_grad()  # expect: AD102
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
