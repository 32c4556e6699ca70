# guards: AD417
"""Prices of houses and of what is in them: the dearest is always the house, and far below what may be spent."""

import torch
from torch import nn

torch.manual_seed(0)
scale = torch.tensor([5e5, 200.0, 80.0, 40.0])
pricer = nn.Linear(6, 4)
optimizer = torch.optim.Adam(pricer.parameters(), lr=1e-2)
for _ in range(30):
    facts = torch.rand(32, 6)
    prices = torch.nn.functional.softplus(pricer(facts)) * scale
    dearest = prices.max(1).values
    wanted = (1 + 0.1 * facts[:, :4]) * scale
    loss = ((prices - wanted) / scale).square().mean() + torch.relu(dearest - 1e9).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
