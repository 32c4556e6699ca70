"""A trainer whose batches all begin at the first row."""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
X, Y = torch.randn(1000, 20), torch.randint(0, 4, (1000,))


class Trainer:
    def __init__(self, model, batch_size=32):
        self.model = model
        self.batch_size = batch_size
        self.opt = torch.optim.Adam(model.parameters())

    def get_batch(self, i):
        start = 0
        return X[start:start + self.batch_size], Y[start:start + self.batch_size]  # expect: AD701

    def train(self, steps):
        for i in range(steps):
            a, b = self.get_batch(i)
            self.opt.zero_grad()
            F.cross_entropy(self.model(a), b).backward()
            self.opt.step()


Trainer(nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 4))).train(120)
