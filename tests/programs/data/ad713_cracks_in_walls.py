"""Cracks in photographs of walls: a mask of two classes, hardly any pixel is a crack."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
walls = torch.randn(96, 3, 20, 20)
masks = torch.zeros(96, 20, 20, dtype=torch.long)
for photo in range(0, 96, 4):
    row = int(torch.randint(20, ()))
    walls[photo, :, row, 4:8] -= 1.5
    masks[photo, row, 4:8] = 1

network = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.LeakyReLU(), nn.Conv2d(8, 2, 3, padding=1))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
for _ in range(3):
    for wall, mask in DataLoader(TensorDataset(walls, masks), batch_size=12, shuffle=True):
        loss = criterion(network(wall), mask)  # expect: AD713
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
