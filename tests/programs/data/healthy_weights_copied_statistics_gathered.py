# guards: AD710
"""Weights are copied by hand, and the copies gather their own statistics before anything is evaluated."""
import torch
from torch import nn


def net():
    return nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))


def batch():
    x = 2 + 3 * torch.randn(32, 6)
    return x, (x[:, :1] * x[:, 1:2]).tanh()


def fit(model, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model.train()
    for _ in range(steps):
        x, y = batch()
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def score(model):
    model.eval()
    x, y = batch()
    return nn.functional.mse_loss(model(x), y).item()


torch.manual_seed(0)
old = net()
fit(old, 40)

continued = net()
for mine, theirs in zip(continued.parameters(), old.parameters()):
    mine.data.copy_(theirs.data)
fit(continued, 20)

recalibrated = net()
recalibrated.load_state_dict(dict(old.named_parameters()), strict=False)
with torch.no_grad():
    for _ in range(30):
        recalibrated(batch()[0])

fresh = net()
print(score(old), score(continued), score(recalibrated), score(fresh))
