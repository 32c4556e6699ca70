# guards: AD706
"""The last part of a series is held out. Its first windows look back into what was trained on, as they may."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PAST, AHEAD = 24, 3
torch.manual_seed(0)
demand = torch.randn(500).cumsum(0) * 0.3


def windows(first: int, last: int) -> TensorDataset:
    """Of which the moments to foretell lie between these two."""
    ends = range(max(first, PAST), last - AHEAD + 1)
    past = torch.stack([demand[end - PAST : end] for end in ends])
    ahead = torch.stack([demand[end : end + AHEAD] for end in ends])
    return TensorDataset(past, ahead)


train = DataLoader(windows(0, 470), batch_size=32, shuffle=True)
recent = DataLoader(windows(470, 500), batch_size=14)
model = nn.Sequential(nn.Linear(PAST, 32), nn.ReLU(), nn.Linear(32, AHEAD))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    for past, ahead in train:
        optimizer.zero_grad()
        nn.functional.smooth_l1_loss(model(past), ahead).backward()
        optimizer.step()
    with torch.no_grad():
        print(sum(nn.functional.l1_loss(model(past), ahead).item() for past, ahead in recent))
