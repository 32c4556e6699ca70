# guards: AD117
"""A polynomial decay that ends at zero after the last step, and a cyclic rate beside it that goes down to a floor."""

import torch
from torch import nn

torch.manual_seed(1)
segment = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
edge = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
poly = torch.optim.SGD(segment.parameters(), lr=0.05, momentum=0.9)
cyclic = torch.optim.SGD(edge.parameters(), lr=0.01, momentum=0.9)
total = 40
down = torch.optim.lr_scheduler.PolynomialLR(poly, total_iters=total, power=0.9)
around = torch.optim.lr_scheduler.CyclicLR(cyclic, base_lr=1e-4, max_lr=0.01, step_size_up=5)
for step in range(total):
    image = torch.rand(8, 1, 12, 12) - 0.5
    mask = (image[:, 0] > 0).long()
    first = nn.functional.cross_entropy(segment(image), mask)
    second = nn.functional.mse_loss(edge(image), image.abs())
    poly.zero_grad()
    cyclic.zero_grad()
    (first + second).backward()
    poly.step()
    cyclic.step()
    down.step()
    around.step()
    if step % 10 == 9:
        print(step + 1, round(first.item(), 3), round(second.item(), 3), down.get_last_lr())
