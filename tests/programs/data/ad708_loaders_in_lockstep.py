"""Rows and what they are to give are paired data, and each is shuffled by a loader of its own."""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
x = torch.randn(96, 5)
inputs = DataLoader(x, batch_size=24, shuffle=True)
targets = DataLoader(x.sum(1, keepdim=True), batch_size=24, shuffle=True)  # expect: AD708
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for given, wanted in zip(inputs, targets):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(given), wanted).backward()
        optimizer.step()
