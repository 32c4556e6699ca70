"""Noise of a generator that all workers copy, in training and in validation; in the latter it is meant."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, x, seed):
        self.x, self.rng = x, np.random.default_rng(seed)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.1 * torch.from_numpy(self.rng.standard_normal(8)).float(), self.x[i]


if __name__ == "__main__":
    torch.manual_seed(0)
    data = torch.linspace(0, 6, 96 * 8).view(96, 8).sin()
    train = DataLoader(Noisy(data[:64], 0), batch_size=8, shuffle=True, num_workers=2)  # expect: AD705
    valid = DataLoader(Noisy(data[64:], 1), batch_size=8, num_workers=2)
    model = nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(2):
        for x, y in train:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            print(sum(nn.functional.mse_loss(model(x), y).item() for x, y in valid))
