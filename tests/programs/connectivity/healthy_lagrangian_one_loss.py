# guards: AD216
"""Constrained training with one loss for both players: primal sees lambda detached, the multiplier sees the violation detached."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(300, 6)
y = (x[:, 0] + x[:, 1] > 0).float()
group = x[:, 0] > 0
clf = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
raw_lambda = nn.Parameter(torch.zeros(()))
optimizer = torch.optim.Adam([
    {"params": clf.parameters(), "lr": 1e-2},
    {"params": [raw_lambda], "lr": 5e-2},
])
for step in range(40):
    out = clf(x).squeeze(1)
    p = out.sigmoid()
    gap = (p[group].mean() - p[~group].mean()).abs() - 0.2
    lam = F.softplus(raw_lambda)
    loss = F.binary_cross_entropy_with_logits(out, y) + lam.detach() * gap - lam * gap.detach()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"{step + 1} loss {loss.item():.3f} gap {gap.item() + 0.2:.3f} lambda {lam.item():.3f}")
