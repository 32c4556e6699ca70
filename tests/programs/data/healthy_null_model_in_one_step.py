# guards: AD708
"""A null model learns beside the true one, from labels that are permuted anew in each epoch."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(80, 5)
y = (x[:, 0] > 0).long()
true, null = nn.Linear(5, 2), nn.Linear(5, 2)
optimizer = torch.optim.SGD([*true.parameters(), *null.parameters()], lr=0.3)
for epoch in range(6):
    permuted = y[torch.randperm(80)]
    for rows in torch.randperm(80).split(20):
        loss = nn.functional.cross_entropy(true(x[rows]), y[rows])
        loss = loss + nn.functional.cross_entropy(null(x[rows]), permuted[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
