# guards: AD223
"""Continuous-time values with fixed slopes in their targets, Langevin samples of an energy, and a real residual."""

import torch
from torch import nn

torch.manual_seed(2)
value = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
energy = nn.Sequential(nn.Linear(2, 24), nn.SiLU(), nn.Linear(24, 1))
curve = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam([*value.parameters(), *energy.parameters(), *curve.parameters()], lr=2e-3)


def value_loss(x):
    x = x.requires_grad_()
    v = value(x)
    slope = torch.autograd.grad(v.sum(), x, retain_graph=True)[0].detach()
    drift = -0.5 * x.detach()
    with torch.no_grad():
        target = 0.9 * (v + 0.1 * ((slope * drift).sum(1, keepdim=True) - x.square().sum(1, keepdim=True)))
    return (v - target).square().mean()


def energy_loss(real):
    chain = torch.randn_like(real)
    for _ in range(5):
        chain.requires_grad_()
        push = torch.autograd.grad(energy(chain).sum(), chain)[0]
        chain = (chain - 0.05 * push + 0.05 * torch.randn_like(chain)).detach()
    up, down = energy(real), energy(chain)
    return up.mean() - down.mean() + 0.1 * (up.square() + down.square()).mean()


def curve_loss(t):
    t.requires_grad_()
    u = curve(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    return (du + u).square().mean() + (curve(torch.zeros(1, 1)) - 1).square().mean()


for step in range(25):
    loss = value_loss(torch.randn(32, 2)) + energy_loss(0.3 * torch.randn(32, 2) + 1) + curve_loss(torch.rand(32, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
