# guards: AD701
"""Mini-batches first, and all reactions at once for the last steps, when the gradient must have no noise."""

import torch
from torch import nn

torch.manual_seed(0)
reactions = torch.randn(96, 5)
yields = torch.sigmoid(reactions @ torch.randn(5, 1)) + 0.02 * torch.randn(96, 1)
model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(260):
    if step < 120:
        rows = torch.randint(0, 96, (16,))
        x, y = reactions[rows], yields[rows]
    else:
        x, y = reactions, yields
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
