# guards: AD639
"""A trap whose potential is the sum of one function of each coordinate: no second derivative is mixed."""

import torch
from torch import nn


class Trap(nn.Module):
    def __init__(self):
        super().__init__()
        self.along = nn.ModuleList([nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)) for _ in range(3)])

    def forward(self, where):
        return sum(each(where[:, i : i + 1]) for i, each in enumerate(self.along))


torch.manual_seed(0)
trap = Trap()
optimizer = torch.optim.Adam(trap.parameters(), lr=3e-3)
for _ in range(25):
    where = torch.randn(32, 3).requires_grad_()
    (force,) = torch.autograd.grad(trap(where).sum(), where, create_graph=True)
    (stiffness,) = torch.autograd.grad(force, where, torch.ones_like(force), create_graph=True)
    loss = (stiffness.sum(1) - 3).square().mean() + (force - where).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
