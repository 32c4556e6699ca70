# guards: AD704
"""Concentration of a dye from absorption spectra: one encoder reads each sample and the blank that was measured that
day, which the table repeats in every row, and the head sees the difference."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
wavelength = torch.linspace(0, 1, 40)
lamp = 1 + 0.3 * torch.sin(5 * wavelength)
peak = torch.exp(-((wavelength - 0.6) ** 2) / 0.01)
concentration = torch.rand(320, 1)
spectra = lamp - concentration * peak + 0.02 * torch.randn(320, 40)
blank = lamp.repeat(320, 1)
table = DataLoader(TensorDataset(spectra, blank, concentration), batch_size=32, shuffle=True)

encoder = nn.Sequential(nn.Linear(40, 32), nn.GELU(), nn.Linear(32, 16))
head = nn.Linear(16, 1)
optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=3e-3)
for epoch in range(8):
    for sample, reference, amount in table:
        difference = encoder(sample) - encoder(reference)
        loss = nn.functional.smooth_l1_loss(head(difference), amount)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
