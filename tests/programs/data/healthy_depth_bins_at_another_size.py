# guards: AD725
"""Depth in bins, a quantity: a map of smooth surfaces is brought to the size of the output by a bilinear resize."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
slopes = torch.rand(24, 2, 1, 1) * 8
across, down = torch.linspace(0, 1, 32).view(1, 1, 32), torch.linspace(0, 1, 32).view(1, 32, 1)
bins = (slopes[:, 0] * across + slopes[:, 1] * down).floor().long()
bins[:, 10:16, 12:20] += 4
bins = bins.clamp(max=15)
images = torch.stack([bins / 15, bins.float().cos()], 1) + 0.05 * torch.randn(24, 2, 32, 32)
model = nn.Sequential(nn.Upsample(22), nn.Conv2d(2, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(30):
    rows = torch.randint(24, (8,))
    scores = model(images[rows])
    small = F.interpolate(bins[rows].unsqueeze(1).float(), size=(22, 22), mode="bilinear")
    loss = F.cross_entropy(scores, small.squeeze(1).round().long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
