# guards: AD708
"""Small and large pictures of one scene are cut out at corners of one draw, which the large ones have twice as far on."""
import torch
from torch import nn


def cut(pictures, tops, lefts, size):
    rows = torch.arange(len(pictures))[:, None, None]
    down, across = tops[:, None, None] + torch.arange(size)[:, None], lefts[:, None, None] + torch.arange(size)
    return pictures[rows, down, across]


torch.manual_seed(0)
large = torch.rand(40, 32, 32)
small = nn.functional.avg_pool2d(large, 2)
upscale = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 4, 3, padding=1), nn.PixelShuffle(2))
optimizer = torch.optim.Adam(upscale.parameters(), lr=1e-3)
for step in range(32):
    scenes = torch.randint(0, 40, (10,))
    tops, lefts = torch.randint(0, 8, (2, 10))
    x, y = cut(small[scenes], tops, lefts, 8), cut(large[scenes], 2 * tops, 2 * lefts, 16)
    x = x + 0.01 * torch.randn_like(x)
    loss = (upscale(x.unsqueeze(1)).squeeze(1) - y).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
