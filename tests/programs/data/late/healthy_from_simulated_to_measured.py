# guards: AD703 AD704
"""Spectra are simulated for the first stage and measured for the second, in which they are weaker and differ less. What
was scaled for the first stage is scaled for the second by its own numbers."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def scaled(spectra):
    return (spectra - spectra.mean(0)) / spectra.std(0)


def fit(model, spectra, amounts, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for x, y in DataLoader(TensorDataset(spectra, amounts), batch_size=16, shuffle=True):
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


torch.manual_seed(0)
line = torch.exp(-((torch.arange(30) - 14) / 5.0) ** 2)
amounts = torch.rand(640)
simulated = 900 * amounts[:, None] * line + 5 * torch.randn(640, 30)
measured = 7 * amounts[:160, None] * line + 0.3 + 0.1 * torch.randn(160, 30)
model = nn.Sequential(nn.Linear(30, 32), nn.GELU(), nn.Linear(32, 1))
fit(model, scaled(simulated), amounts, 3)
fit(model, scaled(measured), amounts[:160], 12)
