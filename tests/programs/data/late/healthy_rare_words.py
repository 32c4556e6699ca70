# guards: AD703 AD704
"""Counts of rare words in short notes: most are zero in any batch, and few notes say anything."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
counts = torch.poisson(torch.full((400, 200), 0.004))
urgent = (counts[:, :20].sum(1) > 0).float()
model = nn.Sequential(nn.Linear(200, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for x, y in DataLoader(TensorDataset(counts, urgent), batch_size=10, shuffle=True):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
