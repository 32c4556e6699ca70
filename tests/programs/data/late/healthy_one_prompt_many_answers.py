# guards: AD704
"""Imitation on many states first, then many answers to one state at a time, each with a target of its own."""

import torch
from torch import nn

torch.manual_seed(0)
states = torch.randn(300, 6)
answers = states[:, :3].argmax(1)
policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)


def update(rows, labels):
    loss = nn.functional.cross_entropy(policy(states[rows]), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(60):
    rows = torch.randint(0, 300, (16,))
    update(rows, answers[rows])
votes = torch.randint(0, 3, (300, 16))
votes[:, :10] = answers[:, None]
for row in range(200):
    update(torch.full((16,), row), votes[row])
