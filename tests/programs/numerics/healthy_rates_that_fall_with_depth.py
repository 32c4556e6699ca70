# guards: AD412
"""Rates fall from layer to layer, to two hundredths at the first, as in fine-tuning."""

import torch
from torch import nn

torch.manual_seed(0)
layers = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(5)), nn.Linear(16, 2))
groups = [{"params": layer.parameters(), "lr": 1e-4 * 0.45 ** (5 - depth)} for depth, layer in enumerate(layers)]
optimizer = torch.optim.AdamW(groups)
for step in range(12):
    x = torch.randn(32, 16)
    optimizer.zero_grad()
    nn.functional.cross_entropy(layers(x), (x[:, 0] > 0).long()).backward()
    optimizer.step()
