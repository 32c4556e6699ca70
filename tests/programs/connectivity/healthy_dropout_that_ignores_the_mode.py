# guards: AD210
"""Monte-Carlo dropout that is always on, and a sampled code: eval mode changes nothing."""

import torch
import torch.nn.functional as F
from torch import nn


class Sampled(nn.Module):
    def forward(self, h):
        dropout = self.training  # a name that says nothing
        return h + 0.1 * torch.randn_like(h)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.second(F.dropout(F.relu(self.first(x)), 0.2, training=True))


def train_epoch(model, optimizer, x, y):
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def test(model, x, y):
    model.eval()
    with torch.no_grad():
        return F.mse_loss(model(x), y).item()


torch.manual_seed(0)
x = torch.randn(32, 8)
y = x.sum(1, keepdim=True)
model = nn.Sequential(Net(), Sampled())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()
for epoch in range(4):
    print(epoch, train_epoch(model, optimizer, x, y), test(model, x, y))
