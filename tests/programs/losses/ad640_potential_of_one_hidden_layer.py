"""An energy of particles, by a network whose hidden layers were meant to be three."""

import torch
from torch import nn


def mlp(sizes, hidden):
    layers = [nn.Linear(sizes, hidden), nn.Tanh()]
    layers += [nn.Linear(hidden, hidden), nn.Tanh()] * 3
    return nn.Sequential(*layers, nn.Linear(hidden, 1))  # expect: AD640


def energy(x):
    return (x.square().sum(1, keepdim=True) - x[:, :1] * x[:, 1:2]).cos()


torch.manual_seed(1)
potential = mlp(4, 20)
optimizer = torch.optim.Adam(potential.parameters(), lr=2e-3)
for _ in range(25):
    x = torch.rand(64, 4) * 2 - 1
    loss = nn.functional.mse_loss(potential(x), energy(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
