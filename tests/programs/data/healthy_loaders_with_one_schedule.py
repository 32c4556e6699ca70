# guards: AD705
"""Two loaders, drawn from side by side, share a schedule of noise levels through which all of their workers go alike."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Schedule:
    """How noisy the n-th batch is."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.levels = []

    def at(self, n):
        while len(self.levels) <= n:
            self.levels.append(self.rng.uniform(0.1, 1.0))
        return self.levels[n]


class Noisy(Dataset):
    def __init__(self, x, schedule):
        self.x, self.schedule = x, schedule

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + self.schedule.at(i // 8) * torch.randn(8), self.x[i]


torch.manual_seed(0)
schedule = Schedule(3)
speech, music = (Noisy(torch.randn(48, 8), schedule) for _ in range(2))
loaders = [DataLoader(data, batch_size=8, num_workers=2, multiprocessing_context="fork") for data in (speech, music)]
model = nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for batches in zip(*loaders):
        loss = sum(nn.functional.mse_loss(model(noisy), clean) for noisy, clean in batches)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
