# guards: AD708
"""One draw flips scans and labels; the scans alone get noise, light and a little warp, and both lose parts of their own."""
import torch
import torch.nn.functional as F
from torch import nn


def wobbled(x):
    grid = F.affine_grid(torch.eye(2, 3).expand(len(x), 2, 3), x.shape, align_corners=False)
    return F.grid_sample(x, grid + 0.02 * torch.randn(len(x), 1, 1, 2), align_corners=False)


def with_holes(x):
    return torch.where(torch.rand(len(x), 1, *x.shape[2:]) < 0.1, torch.zeros(()), x)


torch.manual_seed(0)
scans = torch.rand(40, 1, 12, 12)
labels = scans.roll(1, -1) * 2
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for _ in range(32):
    rows = torch.randperm(40)[:10]
    flips = torch.rand(10, 1, 1, 1) < 0.5
    x, y = (torch.where(flips, each[rows].flip(-2), each[rows]) for each in (scans, labels))
    x = wobbled(x) * (0.7 + 0.6 * torch.rand(10, 1, 1, 1)) + 0.1 * torch.randn_like(x)
    loss = F.l1_loss(net(with_holes(x)), with_holes(y))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
