# guards: AD708
"""Pairs of slices, each warped by a draw of its own: a network is given both, and is to lay the one upon the other."""
import torch
import torch.nn.functional as F
from torch import nn


def identity(x):
    return F.affine_grid(torch.eye(2, 3).expand(len(x), 2, 3), x.shape, align_corners=False)


def displaced(x):
    return F.grid_sample(x, identity(x) + 0.3 * (torch.rand(len(x), 1, 1, 2) - 0.5), align_corners=False)


torch.manual_seed(0)
before = F.avg_pool2d(torch.rand(40, 1, 16, 16), 5, 1, 2)
after = 0.9 * before + 0.02 * torch.randn_like(before)
net = nn.Sequential(nn.Conv2d(2, 8, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(30):
    rows = torch.randint(0, 40, (8,))
    moving, fixed = displaced(before[rows]), displaced(after[rows])
    shift = net(torch.cat([moving, fixed], 1))
    laid = F.grid_sample(moving, identity(moving) + shift[:, None, None], align_corners=False)
    loss = F.mse_loss(laid, fixed)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
