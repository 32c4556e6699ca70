# guards: AD617
"""A grid of pairs: users are repeated, items are repeated side by side, and scores are weighed along both axes."""

import torch
from torch import nn

torch.manual_seed(0)
tower = nn.Sequential(nn.Linear(14, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(tower.parameters(), lr=3e-3)
for _ in range(30):
    users, items = torch.randn(8, 6), torch.randn(5, 8)
    liked = (users[:, :5].argmax(1)).long()
    pairs = torch.cat([users.repeat(5, 1), items.repeat_interleave(8, 0)], 1)
    scores = tower(pairs).view(5, 8)
    by_user = scores.log_softmax(0)[liked, torch.arange(8)]
    by_item = scores.softmax(1).square().sum(1)
    loss = by_item.mean() - by_user.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
