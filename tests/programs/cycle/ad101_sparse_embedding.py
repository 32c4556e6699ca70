"""Item vectors learned from pairs that were bought together; only the rows of a batch get a gradient."""

import torch
from torch import nn

torch.manual_seed(5)
items = nn.Embedding(50, 8, sparse=True)
optimizer = torch.optim.SparseAdam(items.parameters(), lr=0.01)

for batch in range(30):
    left = torch.randint(50, (64,))
    right, other = (left + 1) % 50, torch.randint(50, (64,))
    near = (items(left) * items(right)).sum(1)
    far = (items(left) * items(other)).sum(1)
    loss = nn.functional.softplus(far - near).mean()
    loss.backward()
    optimizer.step()  # expect: AD101
