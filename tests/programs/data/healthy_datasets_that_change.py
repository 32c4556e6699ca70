# guards: AD712
"""Data that change, but not by being read: a replay memory between readings, a cache, views that are copied first."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Memory(Dataset):
    """States that the training loop overwrites."""

    def __init__(self, size=40):
        self.states = torch.randn(size, 4)
        self.values = torch.zeros(size)
        self.drawn = torch.zeros(size)

    def __len__(self):
        return len(self.states)

    def __getitem__(self, i):
        self.drawn[i] += 1
        return self.states[i], self.values[i]

    def put(self, i, state):
        self.states[i] = state
        self.values[i] = state.sum()


class Lazy(Dataset):
    """Rows that are decoded when they are first asked for, and augmented anew each time."""

    def __init__(self, n=40):
        self.raw = torch.randint(0, 255, (n, 4), dtype=torch.uint8)
        self.decoded = [None] * n

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        if self.decoded[i] is None:
            self.decoded[i] = self.raw[i].float() / 255
        x = self.decoded[i].clone()
        x.add_(0.05 * torch.randn(4))
        if random.random() < 0.5:
            x = x.flip(0)
        return x, x.sum()


def fit(data, between=lambda: None):
    net = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.02)
    for _ in range(3):
        for x, y in DataLoader(data, batch_size=10, shuffle=True):
            loss = nn.functional.mse_loss(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            between()


torch.manual_seed(0)
random.seed(0)
memory = Memory()
fit(memory, lambda: memory.put(random.randrange(40), torch.randn(4)))
fit(Lazy())
