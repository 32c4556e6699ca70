# guards: AD623
"""A table of 60 plots fits into one batch; new plots are judged by the statistics of exactly these."""

import torch
from torch import nn

torch.manual_seed(8)
plots, new = torch.randn(60, 5) * 2 + 1, torch.randn(20, 5) * 2 + 1
harvest = plots[:, :1] - 0.5 * plots[:, 1:2] ** 2
model = nn.Sequential(nn.BatchNorm1d(5, momentum=1, affine=False), nn.Linear(5, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)


def closure():
    optimizer.zero_grad()
    error = nn.functional.mse_loss(model(plots), harvest)
    error.backward()
    return error


for _ in range(12):
    model.train()
    optimizer.step(closure)
    model.eval()
    with torch.no_grad():
        model(new)
