# guards: AD617
"""Copies that are grouped in the order in which they were made: advantages of answers, and of the best of several."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
prompts, group = 6, 8
for step in range(40):
    asked = torch.randn(prompts, 5)
    best = asked[:, :4].argmax(1)
    side_by_side = step % 2 == 0
    if side_by_side:
        many, answers = asked.repeat_interleave(group, 0), best.repeat_interleave(group)
    else:
        many, answers = asked.repeat(group, 1), best.repeat(group)
    chosen = torch.distributions.Categorical(logits=policy(many))
    action = chosen.sample()
    with torch.no_grad():
        rewards = (action == answers).float() + 0.1 * torch.rand(len(action))
        if side_by_side:
            rewards = rewards.view(prompts, group)
            advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        else:
            rewards = rewards.view(group, prompts)
            advantages = (rewards - rewards.mean(0)) / (rewards.std(0) + 1e-4)
    loss = -(advantages.flatten() * chosen.log_prob(action)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
