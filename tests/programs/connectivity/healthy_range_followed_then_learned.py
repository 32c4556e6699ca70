# guards: AD215
"""Activations are quantised to a range that follows them for twelve steps, and is learned from then on."""

import torch
from torch import nn


class Range(nn.Module):
    def __init__(self, follow):
        super().__init__()
        self.follow = follow
        self.log_limit = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        if self.training and self.follow:
            self.follow -= 1
            with torch.no_grad():
                self.log_limit.lerp_(x.abs().amax().clamp_min(1e-3).log(), 0.5)
            limit = self.log_limit.detach().exp()
        else:
            limit = self.log_limit.exp()
        kept = torch.minimum(x, limit)
        step = limit / 15
        return kept + ((kept / step).round() * step - kept).detach()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), Range(12), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
mixing = torch.randn(8, 3)
for _ in range(28):
    x = torch.randn(48, 8)
    loss = nn.functional.cross_entropy(model(x), (x @ mixing).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
