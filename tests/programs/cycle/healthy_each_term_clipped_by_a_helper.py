# guards: AD125 AD105
"""Two terms of a loss, each clipped as it comes by one helper, so that neither drowns the other."""

import torch
from torch import nn


class Completer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.GELU())
        self.values = nn.Linear(24, 10)

    def forward(self, rows):
        return self.values(self.body(rows))


def descend(term, weight, model):
    (weight * term).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.05)


torch.manual_seed(0)
model = Completer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
mixing = torch.randn(3, 10)
for _ in range(20):
    rows = torch.randn(32, 3) @ mixing
    hidden = rows * (torch.rand_like(rows) > 0.3)
    optimizer.zero_grad()
    descend(nn.functional.mse_loss(model(hidden), rows), 1.0, model)
    descend((model(rows[:16]) - model(rows[:16] + 0.1 * torch.randn(16, 10))).square().mean(), 0.1, model)
    optimizer.step()
