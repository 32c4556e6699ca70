"""A function that prepares an epoch initialises the layers as well."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(480, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def prepare(model):
    model.train()
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight)  # expect: AD109
            nn.init.zeros_(layer.bias)


for epoch in range(8):
    prepare(model)
    for rows in torch.randperm(480).split(24):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
