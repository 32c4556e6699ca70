# guards: AD122
"""The negative of the loss of validation is to rise."""

import torch
from torch import nn

torch.manual_seed(0)
x, held_out = torch.randn(96, 5), torch.randn(50, 5)
model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=0)
for epoch in range(10):
    model.train()
    for rows in x.split(32):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(rows), rows.norm(dim=1, keepdim=True)).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        score = -nn.functional.mse_loss(model(held_out), held_out.norm(dim=1, keepdim=True))
    plateau.step(score)
