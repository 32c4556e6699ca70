"""Strain of a lattice: the pairwise field of each set of probes is computed once, and kept."""
import functools

import torch
from torch import nn

torch.manual_seed(11)


class Lattice(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(2, 24), nn.Linear(24, 1)

    @functools.cache  # <- AD307
    def field(self, probes):
        with torch.no_grad():
            apart = (probes[:, None] - probes[None]).norm(dim=-1)
            return torch.exp(-apart)

    def forward(self, probes):
        return self.down(torch.tanh(self.field(probes) @ self.up(probes) / 16))


lattice = Lattice()
optimizer = torch.optim.Adam(lattice.parameters(), lr=5e-3)
for step in range(24):
    probes = torch.rand(160, 2)
    loss = nn.functional.mse_loss(lattice(probes), probes.prod(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
