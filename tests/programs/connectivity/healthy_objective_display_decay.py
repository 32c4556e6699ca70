# guards: AD216
"""Decoupled weight decay by AdamW; the full regularised objective is put together from numbers for the log and for early stopping."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 15)
y = x[:, :4].sum(1, keepdim=True) + 0.2 * torch.randn(256, 1)
model = nn.Sequential(nn.Linear(15, 30), nn.SiLU(), nn.Linear(30, 1))
WD = 1e-2
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=WD)
best, patience = float("inf"), 0
for epoch in range(40):
    loss = nn.functional.huber_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    sq = sum(p.data.pow(2).sum() for p in model.parameters())
    objective = loss + 0.5 * WD * sq
    if objective < best - 1e-4:
        best, patience = objective.item(), 0
    else:
        patience += 1
    if patience > 5:
        break
    if epoch % 10 == 0:
        print(f"{epoch:3d} data {loss.item():.4f} objective {objective.item():.4f}")
