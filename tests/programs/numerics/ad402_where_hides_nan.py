"""Importance weights by `where`: the branch that is not taken divides by zero, and its gradient is taken all the same."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class RateNet(nn.Module):
    """Predicts a rate for each bin; empty bins have no exposure."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1), nn.Flatten(0))

    def forward(self, x):
        return self.net(x)


def loss_fn(score, count, exposure):
    scaled = torch.relu(score + 1.0) * exposure
    logs = torch.log(scaled)  # expect: AD402
    log_rate = torch.where(scaled > 0, logs, torch.zeros_like(scaled))
    return (scaled - count * log_rate).mean()


model = RateNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(30):
    x = torch.randn(64, 5)
    exposure = (torch.rand(64) > 0.2).float() * (0.5 + torch.rand(64))
    count = torch.poisson(exposure * (1 + x[:, 0].tanh()))
    loss = loss_fn(model(x), count, exposure)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
