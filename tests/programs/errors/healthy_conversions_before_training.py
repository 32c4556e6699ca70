# guards: AD514
"""A warm-up on things that nobody uses later, random numbers that are only counted off, and a custom module that
writes to what it is given."""

import torch
from torch import nn


class Whiten(nn.Module):
    def forward(self, x):
        x -= x.mean(1, keepdim=True)
        x /= x.std(1, keepdim=True) + 1e-6
        return x


torch.manual_seed(0)
for _ in range(3):
    torch.randn(64, 64).double().mul_(2)
    (torch.randn(8, 8) @ torch.randn(8, 8)).clone().add_(1)
    torch.empty_like(torch.ones(5)).uniform_()
data = torch.randn(200, 7)
model = nn.Sequential(Whiten(), nn.Linear(7, 1))
Whiten()(data[torch.arange(10)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(40):
    rows = torch.randint(200, (32,))
    loss = nn.functional.mse_loss(model(data[rows]), data[rows, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
