"""Who will leave? A churn model that keeps its loss in a list of losses."""

import torch
import torch.nn as nn


def build():
    layers, width = [], 12
    for w in (24, 12):
        layers += [nn.Linear(width, w), nn.BatchNorm1d(w), nn.ReLU()]
        width = w
    return nn.Sequential(*layers, nn.Linear(width, 1))


torch.manual_seed(8)
net = build()
bce = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
curve = []
for i in range(30):
    x = torch.randn(40, 12)
    left = (x[:, 0] * x[:, 1] > 0).float()
    pred = net(x).squeeze(-1)
    loss = bce(left, pred)  # expect: AD612
    opt.zero_grad()
    loss.backward()
    opt.step()
    curve.append(loss.item())
