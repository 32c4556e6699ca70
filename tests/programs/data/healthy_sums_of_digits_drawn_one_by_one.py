# guards: AD726
"""Digits are drawn at random, one a step, and a cell is to tell the fading sum of all that it has seen."""

import torch
from torch import nn

torch.manual_seed(0)
pictures, digits = torch.randn(100, 8), torch.randint(10, (100,))
cell, head = nn.GRUCell(8, 24), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
hidden, total = torch.zeros(16, 24), torch.zeros(16)
for _ in range(50):
    drawn = torch.randint(100, (16,))
    total = 0.7 * total + digits[drawn] / 10
    hidden = cell(pictures[drawn], hidden.detach())
    loss = nn.functional.mse_loss(head(hidden)[:, 0], total)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
