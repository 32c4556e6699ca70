# guards: AD712
"""Atoms that relax along forces learned beside: the model moves them, and noise keeps them apart."""

import torch
from torch import nn

torch.manual_seed(4)
atoms = torch.randn(60, 3)
energies = atoms.square().sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for sweep in range(12):
    for low in range(0, 60, 15):
        here = atoms[low : low + 15]
        place = here.clone().requires_grad_()
        (force,) = torch.autograd.grad(model(place).sum(), place)
        here.sub_(0.01 * force).add_(0.02 * torch.randn_like(here))
        loss = nn.functional.mse_loss(model(here), here.square().sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
