# guards: AD727
"""Generators that the main process seeds anew in each epoch, beside those that workers go on with."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Jitter:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def __call__(self, x):
        return x + self.rng.gauss(0, 0.1)


class Tones(Dataset):
    def __init__(self):
        self.begin(0)

    def begin(self, epoch):
        self.noise = np.random.default_rng(epoch)
        self.transform = Jitter(epoch)

    def __len__(self):
        return 40

    def __getitem__(self, i):
        x = np.sin(np.linspace(0, 1 + i % 4, 12)) + self.noise.normal(scale=0.1, size=12)
        return self.transform(torch.from_numpy(x).float()), i % 4


torch.manual_seed(0)
tones = Tones()
loader = DataLoader(tones, batch_size=8, shuffle=True, num_workers=1, persistent_workers=True)
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    tones.begin(epoch)
    for x, kind in loader:
        loss = nn.functional.cross_entropy(model(x), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
