# guards: AD121
"""Slow weights look ahead: every sixth step they go half the way to the fast ones, which go on from there (Zhang et al.,
Lookahead Optimizer, 2019). The end of an epoch is such a step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(420, 6)
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2]
model = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
slow = [p.detach().clone() for p in model.parameters()]
step = 0
for epoch in range(8):
    for rows in torch.randperm(360).split(20):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 6 == 0:
            with torch.no_grad():
                for kept, p in zip(slow, model.parameters()):
                    kept.add_(0.5 * (p - kept))
                    p.copy_(kept)
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x[360:]), y[360:]).item())
