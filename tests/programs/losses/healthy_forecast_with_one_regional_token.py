# guards: AD613 AD410
# hinted: AD613
"""Hourly wind at a mast, with attention to regional forecasts, of which this site has one."""

import torch
import torch.nn.functional as F
from torch import nn


class RegionAttention(nn.Module):
    def __init__(self, hours_dim, region_dim, heads=2):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hours_dim, hours_dim, bias=False)
        self.key = nn.Linear(region_dim, hours_dim, bias=False)
        self.value = nn.Linear(region_dim, hours_dim)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, hours, regions):
        q, k, v = self.split(self.query(hours)), self.split(self.key(regions)), self.split(self.value(regions))
        weights = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)


class WindModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.hours = nn.Linear(3, 16)
        self.regions = RegionAttention(16, 5)
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(16, 1))

    def forward(self, hours, regions):
        h = self.hours(hours)
        return self.out(h + self.regions(h, regions)).squeeze(-1)


torch.manual_seed(4)
model = WindModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
for step in range(40):
    hours, regions = torch.randn(32, 6, 3), torch.randn(32, 1, 5)
    wind = hours[..., 0] + regions[..., 0].tanh()
    loss = F.mse_loss(model(hours, regions), wind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
