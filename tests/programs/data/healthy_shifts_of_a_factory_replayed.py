# guards: AD702
"""Faults of a machine as they happened, fault by fault, beside a balanced archive that a second loader shuffles."""

import itertools

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


def records(count, order):
    faults = order(torch.arange(3).repeat_interleave(count))
    return TensorDataset(torch.randn(3, 9)[faults] + torch.randn(len(faults), 9), faults)


live = DataLoader(records(64, lambda faults: faults), batch_size=24)
archive = itertools.cycle(DataLoader(records(40, lambda faults: faults), batch_size=24, shuffle=True))
net = nn.Sequential(nn.Linear(9, 30), nn.Tanh(), nn.Linear(30, 3))
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
for _ in range(3):
    for (now, fault), (before, known) in zip(live, archive):
        loss = F.cross_entropy(net(now), fault)
        loss += F.cross_entropy(net(before), known)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
