# guards: AD412
"""Addition modulo 13 with the strong decay that lets a network find the rule behind what it has learned by heart."""

import torch
from torch import nn

torch.manual_seed(0)
pairs = torch.cartesian_prod(torch.arange(13), torch.arange(13))
sums = pairs.sum(1) % 13
rows = torch.randperm(169)[:110]
model = nn.Sequential(nn.Embedding(13, 24), nn.Flatten(), nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 13))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=2.0, betas=(0.9, 0.98))
for epoch in range(300):
    loss = nn.functional.cross_entropy(model(pairs[rows]), sums[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
