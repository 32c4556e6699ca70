# guards: AD215
# hinted: AD215
"""The shares of minerals in a rock, whose sum the forward puts back to one, each by as much, and none below zero."""
import torch
from torch import nn


class Rock(nn.Module):
    def __init__(self, minerals):
        super().__init__()
        self.shares = nn.Parameter(torch.full((minerals,), 1.0 / minerals))

    @torch.no_grad()
    def project(self):
        falling, _ = self.shares.sort(descending=True)
        excess = (falling.cumsum(0) - 1) / torch.arange(1, len(falling) + 1)
        self.shares.sub_(excess[(falling > excess).sum() - 1]).clamp_(min=0)

    def forward(self, spectra):
        self.project()
        return self.shares @ spectra


torch.manual_seed(0)
spectra = 3 + torch.rand(6, 40)
real = torch.tensor([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
rock = Rock(6)
optimizer = torch.optim.SGD(rock.parameters(), lr=0.02)
for _ in range(50):
    seen = real @ spectra + 0.02 * torch.randn(40)
    loss = nn.functional.mse_loss(rock(spectra), seen)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
