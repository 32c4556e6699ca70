# guards: AD709
"""Negatives that can be drawn again: their generator is seeded with the number of the step, and that of an evaluation
with a number of its own."""

import torch
from torch import nn

torch.manual_seed(0)
users, items = nn.Embedding(50, 6), nn.Embedding(400, 6)
model = nn.ModuleList([users, items])
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
generator = torch.Generator()
liked = torch.randint(400, (50,))


def negatives(seed, count=64):
    return torch.randint(400, (count,), generator=generator.manual_seed(seed))


def evaluate():
    with torch.no_grad():
        rivals = users.weight @ items(negatives(0)).T
        own = (users.weight * items(liked)).sum(1, keepdim=True)
        return (own > rivals).float().mean()


for step in range(30):
    user = torch.randint(50, (64,))
    margin = (users(user) * (items(liked[user]) - items(negatives(1 + step)))).sum(1)
    loss = nn.functional.softplus(-margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2:
        print(step, loss.item(), evaluate().item())
