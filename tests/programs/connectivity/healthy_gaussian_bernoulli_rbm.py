# guards: AD216
"""A Gaussian-Bernoulli restricted Boltzmann machine for spectra, by contrastive divergence (CD-2)."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
BANDS, HIDDEN = 20, 12


class RBM(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(0.05 * torch.randn(BANDS, HIDDEN))
        self.visible = nn.Parameter(torch.zeros(BANDS))
        self.hidden = nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, v):
        """The free energy of each spectrum."""
        return 0.5 * v.square().sum(1) - v @ self.visible - F.softplus(v @ self.weight + self.hidden).sum(1)

    @torch.no_grad()
    def gibbs(self, v, times):
        for _ in range(times):
            h = torch.bernoulli(torch.sigmoid(v @ self.weight + self.hidden))
            v = self.visible + h @ self.weight.t() + torch.randn(len(v), BANDS)
        return v


def spectra(number):
    centre = torch.randint(4, BANDS - 4, (number, 1))
    return 2 * torch.exp(-0.5 * (torch.arange(BANDS) - centre) ** 2 / 4) + 0.1 * torch.randn(number, BANDS)


machine = RBM()
optimizer = torch.optim.SGD(machine.parameters(), lr=0.02, momentum=0.5)
for batch in range(80):
    seen = spectra(64)
    dreamt = machine.gibbs(seen, 2)
    optimizer.zero_grad()
    (machine(seen).mean() - machine(dreamt).mean()).backward()
    optimizer.step()
print(f"{F.mse_loss(machine.gibbs(seen, 1), seen).item():.3f}")
