"""Radar maps and the rain that fell below them: each is rotated and zoomed by a call of its own."""
import math
import torch
import torch.nn.functional as F
from torch import nn


def spin(maps):
    angle = (torch.rand(len(maps)) - 0.5) * math.pi
    zoom = 1 + 0.2 * torch.rand(len(maps))
    theta = torch.zeros(len(maps), 2, 3)
    theta[:, 0, 0] = theta[:, 1, 1] = angle.cos() * zoom
    theta[:, 0, 1], theta[:, 1, 0] = -angle.sin() * zoom, angle.sin() * zoom
    return F.grid_sample(maps, F.affine_grid(theta, maps.shape, align_corners=False), align_corners=False)


torch.manual_seed(0)
radar = F.avg_pool2d(torch.rand(96, 1, 20, 20), 5, 1, 2)
rain = torch.expm1(2 * radar).squeeze(1)
net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.SiLU(), nn.Conv2d(12, 1, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(5):
    for rows in torch.randperm(96).split(16):
        seen = spin(radar[rows])
        fell = spin(rain[rows].unsqueeze(1)).squeeze(1)  # expect: AD708
        loss = F.smooth_l1_loss(net(seen).squeeze(1), fell)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
