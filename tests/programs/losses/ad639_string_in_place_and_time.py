"""A vibrating string, with place and time in one tensor, whose columns of second derivatives are picked."""

import torch
from torch import nn


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


def wave_residual(net, where, speed):
    y = net(where)
    first = torch.autograd.grad(y.sum(), where, create_graph=True)[0]
    second = torch.autograd.grad(first, where, torch.ones_like(first), create_graph=True)[0]  # expect: AD639
    y_xx, y_tt = second.unbind(-1)
    return y_tt - speed**2 * y_xx


torch.manual_seed(1)
net = nn.Sequential(nn.Linear(2, 32), Sine(), nn.Linear(32, 16), Sine(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(25):
    inside = torch.rand(64, 2).requires_grad_()
    start = torch.cat([torch.rand(24, 1), torch.zeros(24, 1)], 1)
    residual = wave_residual(net, inside, speed=0.8)
    plucked = net(start) - torch.sin(torch.pi * start[:, :1])
    loss = residual.square().mean() + 20 * plucked.square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
