# guards: AD211
"""Sketches are turned into shaded pictures; now and then some of both are laid side by side, in the only mode there is."""
import torch
import torch.nn.functional as F
from torch import nn


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


def sketches(n):
    picture = torch.zeros(n, 1, 10, 10)
    for each in picture:
        row, column = torch.randint(1, 6, (2,)).tolist()
        each[0, row : row + 3, column : column + 3] = 1
    return picture


torch.manual_seed(0)
shade = nn.Sequential(block(1, 12), block(12, 12), nn.Conv2d(12, 1, 1), nn.Tanh())
real_or_not = nn.Sequential(nn.Conv2d(2, 12, 3, 2), nn.LeakyReLU(0.2), nn.Conv2d(12, 1, 3))
first = torch.optim.Adam(shade.parameters(), 2e-3)
second = torch.optim.Adam(real_or_not.parameters(), 2e-3)
album = []
for step in range(24):
    sketch = sketches(16)
    shaded = F.avg_pool2d(sketch, 3, 1, 1)
    made = shade(sketch)
    second.zero_grad()
    right, wrong = real_or_not(torch.cat([sketch, shaded], 1)), real_or_not(torch.cat([sketch, made.detach()], 1))
    (F.relu(1 - right).mean() + F.relu(1 + wrong).mean()).backward()
    second.step()
    first.zero_grad()
    (F.l1_loss(made, shaded) - 0.05 * real_or_not(torch.cat([sketch, made], 1)).mean()).backward()
    first.step()
    if step % 8 == 7:
        with torch.no_grad():
            some = sketch[:4]
            album.append(torch.cat([some, shade(some).clamp(0, 1)], dim=3))
torch.stack(album)
