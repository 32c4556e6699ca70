# guards: AD122
"""How many decibels a separated source lies above what is left of the others, which rises; its loss is computed, too."""

import torch
from torch import nn

torch.manual_seed(0)
t = torch.linspace(0, 6.28, 40)
net = nn.Sequential(nn.Linear(40, 60), nn.ReLU(), nn.Linear(60, 40))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1, factor=0.5)


def mixture(count):
    source = torch.sin(t + 6.28 * torch.rand(count, 1))
    return source + torch.sin(5 * t + 6.28 * torch.rand(count, 1)), source


for _ in range(9):
    for _ in range(3):
        mixed, source = mixture(32)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(mixed), source).backward()
        optimizer.step()
    with torch.no_grad():
        mixed, source = mixture(64)
        error = nn.functional.mse_loss(net(mixed), source)
        plateau.step(10 * torch.log10(source.square().mean() / error))
