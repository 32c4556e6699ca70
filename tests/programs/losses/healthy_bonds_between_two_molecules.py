# guards: AD616
"""Docking: the energy counts charges of opposite sign across two molecules, and reports how many such pairs there are."""

import torch

torch.manual_seed(0)
signs = torch.where(torch.rand(12) > 0.5, 1.0, -1.0)
pocket_signs = torch.where(torch.rand(12, 1) > 0.5, 1.0, -1.0)
pocket = torch.randn(12, 3)
atoms = torch.nn.Parameter(torch.randn(12, 3) + 2)
search = torch.optim.SGD([atoms], lr=0.05)
for _ in range(25):
    unlike = pocket_signs != signs
    bonds = unlike.sum()
    apart = torch.cdist(pocket, atoms)
    energy = -torch.where(unlike, (-apart).exp(), torch.zeros(())).sum() / bonds + 0.01 * atoms.square().mean()
    search.zero_grad()
    energy.backward()
    search.step()
    print(bonds.item(), energy.item())
