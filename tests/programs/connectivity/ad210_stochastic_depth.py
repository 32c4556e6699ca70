"""Whole branches left out at random in training, written with random numbers alone; eval mode is left on."""

import torch
import torch.nn.functional as F
from torch import nn


class Skip(nn.Module):
    def __init__(self, inner, keep):
        super().__init__()
        self.inner, self.keep = inner, keep

    def forward(self, x):
        if not self.training:
            return x + self.inner(x)
        return x + self.inner(x) * x.new_empty(len(x), 1).bernoulli_(self.keep) / self.keep



def train_epoch(model, optimizer, x, y):
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def test(model, x, y):
    model.eval()  # expect: AD210
    with torch.no_grad():
        return F.mse_loss(model(x), y).item()


torch.manual_seed(0)
x = torch.randn(32, 8)
y = x.sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(8, 16), Skip(nn.Linear(16, 16), 0.8), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()
for epoch in range(4):
    print(epoch, train_epoch(model, optimizer, x, y), test(model, x, y))
