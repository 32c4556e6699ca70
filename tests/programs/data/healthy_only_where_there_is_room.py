# guards: AD724
"""Pixels are made brighter as bytes, where there is room, and darker where the mask says so."""

import torch
from torch import nn

torch.manual_seed(0)
pictures = torch.randint(0, 256, (64, 16), dtype=torch.uint8)
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(40):
    some = pictures[torch.randint(64, (16,))]
    bright = some.clamp(max=200) + 55
    bright[bright < 100] += 20
    dark = torch.where(some > 50, some - 50, torch.zeros_like(some))
    loss = nn.functional.mse_loss(model((bright.float() - dark.float()) / 255), some.float().mean(1, keepdim=True) / 255)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
