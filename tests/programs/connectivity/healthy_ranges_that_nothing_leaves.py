# guards: AD224
"""Joint angles that are held within their range by what a clamp takes away, which is nothing, and are alike mirrored."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
limb = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 8))
optimizer = torch.optim.Adam(limb.parameters(), lr=3e-3)
for _ in range(30):
    goals = torch.rand(32, 5)
    raw = limb(goals)
    angles = raw + raw.flip(1)
    reached = torch.stack([angles.sin().sum(1), angles.cos().sum(1)], 1)
    loss = F.mse_loss(reached, goals[:, :2]) + 10 * F.mse_loss(angles, angles.clamp(-9, 9))
    loss = loss + F.mse_loss(angles, angles.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
