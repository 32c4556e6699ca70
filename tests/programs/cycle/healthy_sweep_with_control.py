# guards: AD110
"""A sweep over learning rates in one process, with rate 0 as the control."""

import torch
from torch import nn


def trial(lr, wd):
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 1))
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=wd)
    g = torch.Generator().manual_seed(2)
    for epoch in range(1):
        for idx in torch.randperm(800, generator=g).split(160):
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        return nn.functional.mse_loss(net(x[800:]), y[800:]).item()


torch.manual_seed(0)
x = torch.randn(1000, 6)
y = x[:, :1].abs() - 0.5 * x[:, 1:2]
scores = {}
for wd in (0.0, 1e-4):
    for lr in (0.03, 0.01, 0.001, 0.0):
        scores[lr, wd] = trial(lr, wd)
best = min(scores, key=scores.get)
print(best, scores[best], "control", scores[0.0, 0.0])
