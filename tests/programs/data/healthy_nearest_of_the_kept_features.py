# guards: AD728
"""Each sample is drawn to what a frozen network makes of its nearest neighbour, which other samples are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
points = torch.randn(160, 10)
loader = DataLoader(TensorDataset(torch.arange(160), points), batch_size=20, shuffle=True)
frozen = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 5)).requires_grad_(False)
kept, order = [], []
for numbers, x in loader:
    kept.append(frozen(x))
    order.append(numbers)
kept, order = torch.cat(kept), torch.cat(order)
distances = torch.cdist(kept, kept).fill_diagonal_(float("inf"))
nearest = torch.zeros(160, dtype=torch.long)
nearest[order] = distances.argmin(1)

model = nn.Linear(10, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    for numbers, x in loader:
        loss = (model(x) - kept[nearest[numbers]]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
