# guards: AD704 AD703
"""A generator of curves learns with their descriptions at first, and in its last epochs with an empty one, so that it can
also do without."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.describe, self.read = nn.Linear(4, 32), nn.Linear(13, 32)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(32, 12))

    def forward(self, curves, time, description):
        return self.out(self.read(torch.cat([curves, time], 1)) + self.describe(description))


torch.manual_seed(0)
descriptions = torch.randn(128, 4)
curves = torch.sin(descriptions[:, :1] * torch.linspace(0, 3, 12) + descriptions[:, 1:2])
model = Flow()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for epoch in range(8):
    for x, d in DataLoader(TensorDataset(curves, descriptions), batch_size=8, shuffle=True):
        kept = d * (epoch < 5)
        time, noise = torch.rand(len(x), 1), torch.randn_like(x)
        loss = nn.functional.mse_loss(model(time * x + (1 - time) * noise, time, kept), x - noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
