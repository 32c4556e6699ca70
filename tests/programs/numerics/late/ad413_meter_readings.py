"""Electricity meter regression; readings arrive in file order."""

import torch
import torch.nn as nn

torch.manual_seed(70)
n = 3200
x = torch.randn(n, 6)
y = x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.1 * torch.randn(n)
y[2010] = 8000.0

net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)


def fit(lo, hi):
    pred = net(x[lo:hi]).squeeze(1)
    loss = nn.functional.mse_loss(pred, y[lo:hi])
    opt.zero_grad()
    loss.backward()  # expect: AD413
    opt.step()
    return loss.item()


log = []
for k in range(0, n, 32):
    log.append(fit(k, k + 32))
    if len(log) % 10 == 0:
        print(f"file rows up to {k + 32}: {sum(log[-10:]) / 10:.4g}")

with torch.no_grad():
    pred = net(x[:500]).squeeze(1)
    print("final mse on the first rows", ((pred - y[:500]) ** 2).mean().item())
