"""Regression with noise of a known size; the log-likelihood, written out, is what goes backward."""
import math
import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(512, 3)
y = (x.sum(1) - 1.5).sin() + 0.1 * torch.randn(512)
mu = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(mu.parameters(), lr=1e-2)


def objective(pred, target, sigma=0.5):
    density = -0.5 * ((target - pred) / sigma) ** 2 - math.log(sigma * math.sqrt(2 * math.pi))  # expect: AD609
    return density.sum() / len(target)


for epoch in range(4):
    for rows in torch.randperm(512).split(64):
        loss = objective(mu(x[rows]).squeeze(-1), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
