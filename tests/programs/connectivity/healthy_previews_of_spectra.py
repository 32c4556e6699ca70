# guards: AD211
"""An adversarial pair for spectra; the same noise is turned into pictures for a log, always with batch statistics."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 32), nn.Sigmoid())

    def forward(self, noise):
        return self.layers(noise)


torch.manual_seed(0)
maker = Maker()
judge = nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
making = torch.optim.Adam(maker.parameters(), 1e-3, betas=(0.5, 0.99))
judging = torch.optim.Adam(judge.parameters(), 1e-3, betas=(0.5, 0.99))
shown = torch.randn(12, 6)
log = []
for step in range(30):
    peak = torch.rand(32, 1)
    real = torch.exp(-80 * (torch.linspace(0, 1, 32) - peak) ** 2)
    fake = maker(torch.randn(32, 6))
    judging.zero_grad()
    (F.softplus(-judge(real)) + F.softplus(judge(fake.detach()))).mean().backward()
    judging.step()
    making.zero_grad()
    F.softplus(-judge(fake)).mean().backward()
    making.step()
    if step % 10 == 5:
        with torch.no_grad():
            sheet = (255 * maker(shown)).round().to(torch.uint8)
        log.append(np.concatenate(list(sheet.view(3, 4, 32).numpy()), axis=1))
