# guards: AD617
"""Expression of 48 genes in eight cells at a time: modules of eight genes share one scorer, then a cell is summed up."""

import torch
from torch import nn

torch.manual_seed(3)
score = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
decide = nn.Linear(24, 2)
optimizer = torch.optim.SGD([*score.parameters(), *decide.parameters()], lr=0.1, momentum=0.9)
cells = torch.randn(160, 48)
kinds = (cells[:, :8].sum(1) > cells[:, 40:].sum(1)).long()
for _ in range(2):
    for rows in torch.randperm(160).split(8):
        modules = torch.relu(cells[rows] + 1).view(48, 8)
        scored = score(modules).view(8, 24)
        loss = nn.functional.cross_entropy(decide(scored), kinds[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
