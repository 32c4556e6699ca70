"""Daily returns are relative to the price of the day before; one share was not traded at first. The table goes through
a data set of windows before any of it becomes a tensor."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def daily_returns(prices):
    change = np.diff(prices, axis=0)
    return change / prices[:-1]  # expect: AD403


class Windows(Dataset):
    def __init__(self, returns, length=8):
        self.returns = returns.astype("float32")
        self.length = length

    def __len__(self):
        return len(self.returns) - self.length

    def __getitem__(self, day):
        window = self.returns[day : day + self.length]
        return torch.from_numpy(window), torch.from_numpy(self.returns[day + self.length])


rng = np.random.default_rng(0)
prices = 20 * np.exp(np.cumsum(rng.normal(scale=0.01, size=(120, 4)), axis=0))
prices[:3, 2] = 0.0
torch.manual_seed(0)
loader = DataLoader(Windows(daily_returns(prices)), batch_size=16)
forecaster = nn.Sequential(nn.Flatten(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 4))
optimizer = torch.optim.Adam(forecaster.parameters(), lr=1e-3)
for windows, following in loader:
    loss = nn.functional.mse_loss(forecaster(windows), following)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
