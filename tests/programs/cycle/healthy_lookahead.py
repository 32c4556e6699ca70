# guards: AD111
"""Lookahead: slow weights every five steps pull the fast ones back half of their way."""

import torch
from torch import nn


class Lookahead:
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.slow = [[p.detach().clone() for p in group["params"]] for group in optimizer.param_groups]
        self.count = 0

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()
        self.count += 1
        if self.count % self.k:
            return
        for slow, group in zip(self.slow, self.optimizer.param_groups):
            for s, p in zip(slow, group["params"]):
                s.add_(p.data - s, alpha=self.alpha)
                p.data.copy_(s)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.GELU(), nn.Linear(32, 1))
optimizer = Lookahead(torch.optim.Adam(model.parameters(), lr=1e-2))
for step in range(40):
    x = torch.randn(64, 5)
    loss = nn.functional.mse_loss(model(x), x.norm(dim=1, keepdim=True) / 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
