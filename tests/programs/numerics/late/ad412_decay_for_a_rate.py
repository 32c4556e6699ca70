"""The decay of another optimizer, where it was multiplied by a small rate: here it takes a tenth of a weight in each step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(640, 10)
y = x[:, :3].sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=100)  # expect: AD412
for epoch in range(6):
    for rows in torch.randperm(640).split(20):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
