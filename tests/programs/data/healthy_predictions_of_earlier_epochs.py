# guards: AD728
"""Predictions of earlier epochs are averaged for each sample, and are what it is drawn to."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(160, 10), torch.randint(0, 4, (160,))
loader = DataLoader(TensorDataset(torch.arange(160), x, y), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
earlier = torch.zeros(160, 4)
for epoch in range(5):
    for numbers, given, kind in loader:
        found = model(given).softmax(1)
        wanted = earlier[numbers]
        loss = nn.functional.nll_loss(found.clamp_min(1e-6).log(), kind)
        if epoch:
            loss = loss + nn.functional.mse_loss(found, wanted)
        earlier[numbers] = found.detach() if not epoch else 0.6 * wanted + 0.4 * found.detach()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
