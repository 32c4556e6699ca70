# guards: AD401
"""Rates are tried on a throw-away copy, ever larger ones until its loss overflows; then the model learns with less."""

import copy

import torch
from torch import nn

torch.manual_seed(12)
x = torch.randn(256, 7)
y = (x[:, :1] * 2 - x[:, 1:2]).tanh() + 0.1 * torch.randn(256, 1)
model = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))


def highest_rate_that_works(model):
    twin = copy.deepcopy(model)
    optimizer = torch.optim.SGD(twin.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.35)
    best, rate = float("inf"), 1e-4
    for _ in range(60):
        rows = torch.randint(0, 256, (32,))
        loss = (twin(x[rows]) - y[rows]).square().mean()
        if not torch.isfinite(loss):
            break
        if loss.item() < best:
            best, rate = loss.item(), optimizer.param_groups[0]["lr"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return rate


rate = highest_rate_that_works(model)
optimizer = torch.optim.SGD(model.parameters(), lr=rate / 4)
for step in range(60):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(rate, loss.item())
