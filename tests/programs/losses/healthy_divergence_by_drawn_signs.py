# guards: AD639
"""Sliced score matching: the divergence of a score is estimated by products of its Jacobian with drawn signs."""

import torch
from torch import nn

torch.manual_seed(0)
energy = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(energy.parameters(), lr=3e-3)
for _ in range(25):
    x = (torch.randn(64, 4) * torch.tensor([1.0, 0.5, 2.0, 1.0])).requires_grad_()
    (score,) = torch.autograd.grad(-energy(x).sum(), x, create_graph=True)
    signs = torch.randint(0, 2, x.shape).float() * 2 - 1
    (product,) = torch.autograd.grad(score, x, signs, create_graph=True)
    loss = ((product * signs).sum(1) + 0.5 * score.square().sum(1)).mean() + 0.01 * energy(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
