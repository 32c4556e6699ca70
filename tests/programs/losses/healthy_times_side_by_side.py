# guards: AD639
"""Pendulums, whose times lie side by side in a row: each angle depends on its own time alone."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(25):
    lengths = 0.5 + torch.rand(8, 1)
    times = torch.rand(8, 10, requires_grad=True)
    angles = net(torch.stack([times, lengths.expand(8, 10)], -1)).squeeze(-1)
    (speed,) = torch.autograd.grad(angles, times, torch.ones_like(angles), create_graph=True)
    (pull,) = torch.autograd.grad(speed, times, torch.ones_like(speed), create_graph=True)
    residual = pull[:, 1:] + angles[:, 1:].sin() / lengths
    begin = net(torch.cat([torch.zeros(8, 1), lengths], 1)) - 0.4
    loss = residual.square().mean() + 10 * begin.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
