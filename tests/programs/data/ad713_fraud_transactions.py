"""Fraud among card payments: a dozen columns, one in sixty is bad."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Payments(Dataset):
    def __init__(self, n=900):
        g = torch.Generator().manual_seed(8)
        self.columns = torch.randn(n, 12, generator=g)
        self.fraud = (torch.rand(n, generator=g) < 1 / 60).float()
        self.columns[self.fraud > 0] += 0.8

    def __len__(self):
        return len(self.fraud)

    def __getitem__(self, i):
        return self.columns[i], self.fraud[i : i + 1]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
detector = Detector()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(detector.parameters(), lr=1e-3)
for epoch in range(2):
    for payment, label in DataLoader(Payments(), batch_size=50, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(detector(payment), label)  # expect: AD713
        loss.backward()
        optimizer.step()
