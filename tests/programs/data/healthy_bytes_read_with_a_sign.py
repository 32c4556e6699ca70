# guards: AD724
"""Bytes are moved round by half of their range and read with a sign; what is added to others has one already."""

import torch
from torch import nn

torch.manual_seed(0)
raw = torch.randint(0, 256, (64, 8), dtype=torch.uint8)
model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(40):
    some = raw[torch.randint(64, (16,))]
    centred = (some - 128).view(torch.int8) if step % 2 else (some - 128).to(torch.int8)
    shaken = some.clamp(8, 247) + torch.randint(-8, 9, some.shape).to(torch.uint8)
    given = torch.cat([centred.float() / 128, shaken.float() / 255], dim=1)
    loss = nn.functional.mse_loss(model(given), some.float().mean(1, keepdim=True) / 255)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
