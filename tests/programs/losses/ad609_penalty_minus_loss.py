"""A trainer that subtracts the loss from the penalty, instead of adding it."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.criterion = nn.CrossEntropyLoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def penalty(self):
        return 1e-3 * sum(p.abs().sum() for p in self.model.parameters() if p.dim() > 1)

    def fit(self, epochs):
        for epoch in range(epochs):
            for a, b in self.loader:
                self.opt.zero_grad()
                objective = self.penalty() - self.criterion(self.model(a), b)  # expect: AD609
                objective.backward()
                self.opt.step()
            print(epoch, objective.item())


torch.manual_seed(1)
features = torch.randn(400, 10)
labels = (features[:, 0] > 0).long() + (features[:, 1] > 0.3).long()
Trainer(nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 3)), DataLoader(TensorDataset(features, labels), 50, shuffle=True)).fit(12)
