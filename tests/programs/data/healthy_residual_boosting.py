# guards: AD706
"""Regression of residuals: a second network learns what the first one, now at rest, leaves over in a later
window of the same series."""

import torch
from torch import nn

torch.manual_seed(1)
x = torch.rand(500, 6) * 2 - 1
y = (3 * x[:, :1]).sin() + x[:, 1:2] * x[:, 2:3] + 0.05 * torch.randn(500, 1)
windows, held = [(0, 400), (200, 480)], slice(480, 500)


def stage(width):
    return nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Linear(width, 1))


ensemble = []
for begin, end in windows:
    net = stage(24)
    adam = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(3):
        for rows in (begin + torch.randperm(end - begin)).split(40):
            xb, yb = x[rows], y[rows]
            with torch.no_grad():
                residual = yb - sum(0.8 * weak(xb) for weak in ensemble)
            loss = (net(xb) - residual).abs().mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    ensemble.append(net.eval())
with torch.no_grad():
    print(nn.functional.mse_loss(sum(0.8 * weak(x[held]) for weak in ensemble), y[held]).item())
