# guards: AD102
"""The noise scale of gradients: those of small and of large batches are measured, dropped, and a step follows after."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
rule = torch.randn(10, 1)
sizes = []


def squared_norm(batch):
    x = torch.randn(batch, 10)
    nn.functional.mse_loss(model(x), x @ rule).backward()
    norm = sum(float(p.grad.square().sum()) for p in model.parameters())
    optimizer.zero_grad()
    return norm


for _ in range(25):
    small, large = squared_norm(8), squared_norm(64)
    noise = (small - large) / (1 / 8 - 1 / 64)
    sizes.append(noise / max((64 * large - 8 * small) / 56, 1e-8))
    x = torch.randn(32, 10)
    nn.functional.mse_loss(model(x), x @ rule).backward()
    optimizer.step()
    optimizer.zero_grad()
