# guards: AD124
"""An epoch is one step of four micro-batches, the last of which has two samples left; gaps in the series do not count."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
series = torch.randn(50, 24)
measured = torch.rand(50, 24) < 0.8
loader = DataLoader(TensorDataset(series, measured), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Linear(16, 24))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    optimizer.zero_grad()
    for values, known in loader:
        found = model(values * known)
        loss = nn.functional.mse_loss(found[known], values[known]) / len(loader)
        loss.backward()
    optimizer.step()
