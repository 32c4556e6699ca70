# guards: AD216
"""An energy-based model of points on a ring, with a Gaussian base energy; negatives by Langevin dynamics."""

import torch
from torch import nn

torch.manual_seed(0)


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, points):
        base = 0.5 * (points / 4).square().sum(1)
        return self.net(points).squeeze(1) + base


def moved(energy, points, moves=8, size=0.05):
    points = points.detach().requires_grad_(True)
    for _ in range(moves):
        (slope,) = torch.autograd.grad(energy(points).sum(), points)
        with torch.no_grad():
            points += -0.5 * size * slope + size**0.5 * torch.randn_like(points)
    return points.detach()


def ring(number):
    angle = torch.rand(number) * 6.283
    return 1.5 * torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(number, 2)


energy = Energy()
optimizer = torch.optim.Adam(energy.parameters(), lr=2e-3)
pool = torch.randn(256, 2)
for iteration in range(60):
    chosen = torch.randint(0, len(pool), (64,))
    negatives = moved(energy, pool[chosen])
    pool[chosen] = negatives
    of_data, of_model = energy(ring(64)), energy(negatives)
    loss = (of_data - of_model).mean() + 0.01 * (of_data.square() + of_model.square()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{(of_data - of_model).mean().item():.3f}")
