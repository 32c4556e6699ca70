# guards: AD728
"""Transitions were shuffled once, and are read in one order: batches of states meet kept batches of next states."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
walk = torch.randn(161, 6).cumsum(0) / 10
order = torch.randperm(160)
states, following = walk[:-1][order], walk[1:][order]
encoder = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4)).requires_grad_(False)
predictor = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
kept = [encoder(later) for (later,) in DataLoader(TensorDataset(following), batch_size=20)]

optimizer = torch.optim.Adam(predictor.parameters(), lr=0.01)
for _ in range(5):
    for (now,), wanted in zip(DataLoader(TensorDataset(states), batch_size=20), kept, strict=True):
        loss = nn.functional.mse_loss(predictor(now), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
