"""Dropout in a helper, under a name of its own; the test leaves the model in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn


def thin(h, rate, on):
    return F.feature_alpha_dropout(h.unsqueeze(-1), rate, on).squeeze(-1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.second(thin(torch.selu(self.first(x)), 0.2, self.training))


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
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()
for epoch in range(4):
    print(epoch, train_epoch(model, optimizer, x, y), test(model, x, y))
