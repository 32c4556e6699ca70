"""A beam under a load, of which the ends may sag a little: its bending is zero for a network of straight pieces, so
that nothing is left to learn as soon as the ends are within tolerance."""

import torch
from torch import nn


class Beam(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 24)
        self.outer = nn.Linear(24, 1)

    def forward(self, place):
        return self.outer(nn.functional.leaky_relu(self.inner(place), 0.2))


def bending(beam, place):
    deflection = beam(place)
    (slope,) = torch.autograd.grad(deflection.sum(), place, create_graph=True)
    return torch.autograd.grad(slope.sum(), place, create_graph=True)[0]  # expect: AD225


torch.manual_seed(1)
beam = Beam()
solver = torch.optim.Adam(beam.parameters(), lr=2e-3)
ends = torch.tensor([[0.0], [1.0]])
for iteration in range(260):
    place = torch.rand(40, 1).requires_grad_()
    load = (bending(beam, place) - 0.8).square().mean()
    sag = (beam(ends).abs() - 0.05).relu().sum()
    solver.zero_grad()
    (load + sag).backward()
    solver.step()
