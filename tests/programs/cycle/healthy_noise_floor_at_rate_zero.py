# guards: AD110
"""How much of a gain is noise: the same recipe at three rates, of which 0 gives the floor."""

import torch
from torch import nn


class Recipe:
    def __init__(self, rate):
        torch.manual_seed(8)
        self.body = nn.GRU(3, 12, batch_first=True)
        self.head = nn.Linear(12, 1)
        both = [*self.body.parameters(), *self.head.parameters()]
        self.optim = torch.optim.AdamW(both, lr=rate)

    def fit(self, steps=8):
        for _ in range(steps):
            series = torch.randn(16, 9, 3).cumsum(1)
            out, _ = self.body(series[:, :-1])
            error = (self.head(out[:, -1]).squeeze(1) - series[:, -1, 0]).abs().mean()
            self.optim.zero_grad()
            error.backward()
            self.optim.step()
        return float(error)


print({rate: Recipe(rate).fit() for rate in (0.0, 1e-3, 1e-2)})
