# guards: AD639
"""A potential in a box: each second derivative is that of one column, by the helper that takes all others as well."""

import torch
from torch import nn


def gradient(of, by):
    return torch.autograd.grad(of, by, grad_outputs=torch.ones_like(of), create_graph=True)[0]


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(25):
    points = torch.rand(40, 3, requires_grad=True)
    potential = net(points)
    field = gradient(potential, points)
    laplacian = sum(gradient(field[:, i : i + 1], points)[:, i] for i in range(3))
    walls = torch.rand(20, 3).round()
    loss = (laplacian + 1).square().mean() + 5 * net(walls).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
