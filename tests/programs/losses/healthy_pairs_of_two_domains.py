# guards: AD616
"""Pairs of a picture and a sketch of the same thing are pulled together; sketches come with a column of labels."""

import torch
from torch import nn

torch.manual_seed(3)
things = torch.randn(6, 10)
encode = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 6))
name = nn.Linear(6, 6)
optimizer = torch.optim.Adam([*encode.parameters(), *name.parameters()], lr=3e-3)
for _ in range(24):
    labels, of_sketch = torch.randint(0, 6, (32,)), torch.randint(0, 6, (32, 1))
    pictures = encode(things[labels] + 0.3 * torch.randn(32, 10))
    sketches = encode(0.7 * things[of_sketch[:, 0]] + 0.3 * torch.randn(32, 10))
    same = (of_sketch == labels).float()
    pulled = (torch.cdist(sketches, pictures) * same).sum() / same.sum().clamp(min=1)
    loss = nn.functional.cross_entropy(name(pictures), labels) + 0.1 * pulled
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
