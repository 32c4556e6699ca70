"""A trainer that divides a mean by the size of the batch, and not by the number of batches that it sums."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, batch_size=16, accumulate=6):
        self.model, self.batch_size, self.accumulate = model, batch_size, accumulate
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def fit(self, data, epochs):
        loader = DataLoader(data, batch_size=self.batch_size, shuffle=True)
        for _ in range(epochs):
            for k, (a, b) in enumerate(loader, 1):
                loss = ((self.model(a) - b) ** 2).mean()
                loss = loss / self.batch_size
                loss.backward()  # expect: AD114
                if k % self.accumulate == 0:
                    self.opt.step()
                    self.opt.zero_grad()


torch.manual_seed(0)
a = torch.randn(384, 6)
Trainer(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))).fit(TensorDataset(a, a.sum(1, keepdim=True)), 6)
