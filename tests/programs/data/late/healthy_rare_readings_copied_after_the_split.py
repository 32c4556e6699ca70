# guards: AD706
"""Readings of cheap gauges, rounded, some of which recur; the rare class is repeated in the training part alone."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def readings(count, generator):
    x = torch.randn(count, 6, generator=generator)
    x[: count // 25] = x[count // 2 : count // 2 + count // 25]
    y = (x.sum(1) > 3.2).float()
    rows = torch.randperm(count, generator=generator)
    return x[rows], y[rows]


def repeated(x, y, generator):
    rare = y.nonzero().squeeze(1)
    more = rare[torch.randint(len(rare), (int((y == 0).sum()) - len(rare),), generator=generator)]
    return torch.cat([x, x[more]]), torch.cat([y, y[more]])


generator = torch.Generator().manual_seed(5)
torch.manual_seed(5)
x, y = readings(800, generator)
loader = DataLoader(TensorDataset(*repeated(x[:600], y[:600], generator)), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(4):
    model.train()
    for inputs, targets in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(model(inputs).squeeze(1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = model(x[600:]).squeeze(1)
        print(epoch, nn.functional.binary_cross_entropy_with_logits(scores, y[600:]).item())
