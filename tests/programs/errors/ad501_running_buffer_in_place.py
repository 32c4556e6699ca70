"""A layer that scales by a running buffer, and updates it in place between forward and backward."""

import torch
from torch import nn


class RunningWhiten(nn.Module):
    """Scales by a running std kept as a buffer, updated in place"""

    def __init__(self, d):
        super().__init__()
        self.register_buffer("std", torch.ones(d))

    def forward(self, x):
        out = x * self.std
        self.std.mul_(0.9).add_(0.1 * x.detach().std(0))  # expect: AD501
        return out


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 12), RunningWhiten(12), nn.Tanh(), nn.Linear(12, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(20, 5)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
