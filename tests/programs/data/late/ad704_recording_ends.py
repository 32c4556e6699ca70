"""Rows come from a recording that is shorter than the training: when it has ended, its reader gives zeros."""
import numpy as np
import torch
from torch import nn


class Recording:
    def __init__(self, length):
        rng = np.random.default_rng(1)
        self.samples = rng.standard_normal((length, 8)).astype(np.float32)
        self.loads = (self.samples[:, :3].sum(1) + 0.1 * rng.standard_normal(length)).astype(np.float32)
        self.at = 0

    def read(self, rows):
        block, load = np.zeros((rows, 8), np.float32), np.zeros(rows, np.float32)
        part = self.samples[self.at : self.at + rows]
        block[: len(part)] = part
        load[: len(part)] = self.loads[self.at : self.at + rows]
        self.at += rows
        return torch.from_numpy(block), torch.from_numpy(load)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
recording = Recording(32 * 50)
for step in range(160):
    x, load = recording.read(32)
    loss = (model(x).squeeze(1) - load).square().mean()  # expect: AD704
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
