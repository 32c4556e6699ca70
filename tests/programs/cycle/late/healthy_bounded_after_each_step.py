# guards: AD121
"""Weights of a mixture are kept between bounds after each step; a copy follows them as an average, and both are scored."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(420, 6)
y = x @ torch.tensor([0.5, 0.0, 0.3, 0.1, 0.0, 0.9])
model = nn.Sequential(nn.Linear(6, 12), nn.Softplus(), nn.Linear(12, 1), nn.Flatten(0))
smooth = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for rows in torch.randperm(360).split(20):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for kept, p in zip(smooth.parameters(), model.parameters()):
                p.clamp_(-0.6, 1.2)
                kept.lerp_(p, 0.05)
    with torch.no_grad():
        scores = [nn.functional.mse_loss(each(x[360:]), y[360:]).item() for each in (model, smooth)]
    print(epoch, *scores)
