# guards: AD703
"""A recogniser of tones is to work at any loudness: each batch is amplified by a factor between 1/100 and 100."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
pitch = torch.randint(0, 3, (480,))
waves = torch.sin(torch.linspace(0, 6, 40) * (1 + pitch[:, None])) + 0.1 * torch.randn(480, 40)
model = nn.Sequential(nn.Linear(40, 64), nn.Softsign(), nn.Linear(64, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
for epoch in range(8):
    for x, y in DataLoader(TensorDataset(waves, pitch), batch_size=24, shuffle=True):
        x = x * 10 ** (4 * torch.rand(1) - 2)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
