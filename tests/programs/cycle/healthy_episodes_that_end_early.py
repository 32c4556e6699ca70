# guards: AD124
"""Batches of episodes that end at very different times: moves are weighed by what came of them, over all that were made."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for step in range(24):
    for _ in range(3):
        length = 5 if torch.rand(()) < 0.5 else 40
        states = torch.randn(6, length, 4)
        with torch.no_grad():
            moves = torch.distributions.Categorical(logits=policy(states)).sample()
        alive = (torch.arange(length) < torch.randint(2, length + 1, (6, 1))).float()
        rewards = (moves == states[..., :3].argmax(-1)).float() * alive
        returns = rewards.flip(1).cumsum(1).flip(1)
        advantages = returns - (returns * alive).sum() / alive.sum()
        surprise = F.cross_entropy(policy(states).transpose(1, 2), moves, reduction="none")
        loss = (surprise * advantages * alive).sum() / alive.sum()
        (loss / 3).backward()
    optimizer.step()
    optimizer.zero_grad()
