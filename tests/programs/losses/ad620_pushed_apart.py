"""An encoder with a distance that was to keep the classes apart, and no margin to stop at."""

import torch
from torch import nn


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, left, right, same):
        gap = (self.net(left) - self.net(right)).pow(2).sum(1)
        return (same * gap - (1 - same) * gap).mean()  # <- AD620


def draw(count, generator):
    kind = torch.randint(0, 3, (2, count), generator=generator)
    centres = torch.eye(3, 10) * 2
    points = centres[kind] + 0.3 * torch.randn(2, count, 10, generator=generator)
    return points[0], points[1], (kind[0] == kind[1]).float()


torch.manual_seed(2)
generator = torch.Generator().manual_seed(3)
model = Pairs()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(30):
    loss = model(*draw(64, generator))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        print(step, loss.item())
