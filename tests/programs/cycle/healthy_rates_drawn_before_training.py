# guards: AD103
"""The rates of a schedule are looked at before anything is trained: its optimizer steps on nothing meanwhile."""

import torch
from torch import nn


def build(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    falls = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)
    return optimizer, torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, falls], milestones=[4])


def rates(model, steps):
    optimizer, schedule = build(model)
    seen = []
    for _ in range(steps):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return seen


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 1))
print(" ".join(f"{rate:.1e}" for rate in rates(model, 20)))
optimizer, schedule = build(model)
for _ in range(20):
    x = torch.randn(32, 6)
    loss = nn.functional.smooth_l1_loss(model(x), x[:, :1] * x[:, 1:2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
