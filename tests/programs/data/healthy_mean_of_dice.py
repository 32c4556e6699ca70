# guards: AD725
"""A model learns to tell the mean of the dice that it is shown: numbers that tell how much, and are given as well."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
dice = torch.randint(1, 7, (320, 1)).repeat(1, 4)
again = torch.rand(320, 4) < 0.2
dice[again] = torch.randint(1, 7, (int(again.sum()),))
means = dice.float().mean(1).round().long() - 1
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    for shown, mean in DataLoader(TensorDataset(dice, means), batch_size=32, shuffle=True):
        loss = nn.functional.cross_entropy(model(shown.float() / 6), mean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
