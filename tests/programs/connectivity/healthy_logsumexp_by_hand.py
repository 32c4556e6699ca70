# guards: AD216
"""Pairs of views told apart by a hand-written log-sum-exp, whose maximum is taken off and added again."""

import torch
from torch import nn, optim

torch.manual_seed(21)


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8))

    def forward(self, x):
        z = self.layers(x)
        return z / z.norm(dim=1, keepdim=True)


def log_total(scores):
    top = scores.amax(1).detach()
    rest = torch.exp(scores - top[:, None]).sum(1)
    return top + rest.log()


tower = Tower()
adam = optim.Adam(tower.parameters(), lr=2e-3)
things = torch.randn(160, 16)

for epoch in range(8):
    for rows in torch.randperm(160).split(32):
        one = tower(things[rows] + 0.1 * torch.randn(len(rows), 16))
        two = tower(things[rows] + 0.1 * torch.randn(len(rows), 16))
        scores = one @ two.T / 0.2
        loss = (log_total(scores) - scores.diagonal()).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
