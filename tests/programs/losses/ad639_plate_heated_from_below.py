"""The steady heat of a plate, with one helper for all derivatives: the second ones are taken of both columns at once."""

import torch
from torch import nn


def gradient(of, by):
    return torch.autograd.grad(of, by, grad_outputs=torch.ones_like(of), create_graph=True)[0]


class Plate(nn.Module):
    def __init__(self):
        super().__init__()
        self.field = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def residual(self, points):
        points = points.requires_grad_()
        heat = self.field(points)
        flow = gradient(heat, points)
        spread = gradient(flow, points)  # expect: AD639
        return spread.sum(dim=1, keepdim=True) + torch.sin(3 * points[:, :1])

    def edges(self, count):
        points = torch.rand(count, 2)
        points[:, 1] = torch.randint(0, 2, (count,)).float()
        return self.field(points) - points[:, 1:]


torch.manual_seed(0)
plate = Plate()
optimizer = torch.optim.Adam(plate.parameters(), lr=3e-3)
for _ in range(25):
    loss = plate.residual(torch.rand(48, 2)).pow(2).mean() + 10 * plate.edges(24).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
