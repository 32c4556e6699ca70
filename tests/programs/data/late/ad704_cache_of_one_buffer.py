"""Readings are decoded into one buffer, and the cache keeps that buffer: from the second epoch on all samples are the last one."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Readings(Dataset):
    def __init__(self, count):
        self.raw = np.random.default_rng(0).integers(0, 255, (count, 24)).astype(np.uint8)
        self.labels = (self.raw[:, :12].sum(1) > self.raw[:, 12:].sum(1)).astype(np.int64)
        self.buffer = np.empty(24, np.float32)
        self.cache = {}

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, index):
        if index not in self.cache:
            np.divide(self.raw[index], 255.0, out=self.buffer, casting="unsafe")
            self.cache[index] = self.buffer
        return torch.from_numpy(self.cache[index].copy()), self.labels[index]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 2))
loader = DataLoader(Readings(480), batch_size=16, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)  # expect: AD704
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
