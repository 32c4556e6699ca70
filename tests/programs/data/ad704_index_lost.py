"""A data set that forgets which sample it was asked for."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sensors(Dataset):
    def __init__(self, n=120):
        self.readings = torch.randn(n, 10)
        self.level = self.readings.sum(1)
        self.cursor = 0

    def __len__(self):
        return len(self.level)

    def __getitem__(self, index):
        return self.readings[self.cursor], self.level[index]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.L1Loss()
sensors = Sensors()
for epoch in range(2):
    for readings, level in DataLoader(sensors, batch_size=12, shuffle=True):
        optimizer.zero_grad()
        loss = loss_fn(model(readings), level)  # expect: AD704
        loss.backward()
        optimizer.step()
