# guards: AD227 AD121
"""Averages of weights of which some rest: a frozen tower like the one that is trained, and a pair of old teachers."""

import copy

import torch
from torch import nn

torch.manual_seed(0)


def tower():
    return nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 6))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.image = tower(), tower()
        self.image.requires_grad_(False)

    def forward(self, x):
        return self.text(x), self.image(x)


pair = Pair()
averaged = copy.deepcopy(pair).requires_grad_(False)
optimizer = torch.optim.Adam(pair.text.parameters(), lr=1e-3)
for _ in range(20):
    text, image = pair(torch.randn(32, 8))
    loss = (text - image).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for kept, weight in zip(averaged.parameters(), pair.parameters(), strict=True):
            kept.mul_(0.98).add_(weight, alpha=0.02)

old, older = tower().requires_grad_(False), tower().requires_grad_(False)
student = tower()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
with torch.no_grad():
    for newer, weight in zip(old.parameters(), older.parameters(), strict=True):
        newer.lerp_(weight, 0.3)
for _ in range(20):
    x = torch.randn(32, 8)
    loss = (student(x) - old(x)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
