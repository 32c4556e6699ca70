# guards: AD701
"""One batch is learned by heart, chosen by its indices, before the real run over all rows."""

import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(1200, 10)
targets = features[:, :1] * features[:, 1:2]


def fit(model, pick, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        rows = pick()
        loss = nn.functional.mse_loss(model(features[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def network():
    return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1))


probe = torch.randperm(1200)[:24]
print("one batch:", fit(network(), lambda: probe, 60))
print("all rows:", fit(network(), lambda: torch.randint(1200, (24,)), 60))
