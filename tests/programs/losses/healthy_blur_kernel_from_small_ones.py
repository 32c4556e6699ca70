# guards: AD610
"""A blur kernel is estimated as several small convolutions in a row, which constrain it to what optics can do."""

import torch
from torch import nn

torch.manual_seed(1)
sizes = (7, 5, 3)
kernel = nn.Sequential(
    nn.Conv2d(1, 12, sizes[0], bias=False), nn.Conv2d(12, 12, sizes[1], bias=False), nn.Conv2d(12, 1, sizes[2], bias=False)
)
optimizer = torch.optim.Adam(kernel.parameters(), lr=2e-3)
grid = torch.arange(13) - 6.0
blur = torch.exp(-(grid[:, None].square() / 8 + grid[None].square() / 3))
blur = blur / blur.sum()
for _ in range(25):
    sharp = torch.rand(4, 1, 32, 32)
    seen = nn.functional.conv2d(sharp, blur[None, None])
    loss = nn.functional.l1_loss(kernel(sharp), seen)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
