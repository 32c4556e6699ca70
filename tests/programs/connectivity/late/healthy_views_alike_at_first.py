# guards: AD224
"""Consistency between two views of a sample, whose augmentation grows from nothing in the course of the training."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
centres = 2 * torch.randn(4, 10)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def drawn(number):
    kinds = torch.randint(0, 4, (number,))
    return centres[kinds] + torch.randn(number, 10), kinds


for step in range(120):
    strength = max(0.0, (step - 20) / 100)
    samples, _ = drawn(48)
    labelled, kinds = drawn(16)
    with torch.no_grad():
        plain = model(samples).log_softmax(1)
    moved = model(samples + strength * torch.randn_like(samples)).log_softmax(1)
    loss = F.cross_entropy(model(labelled), kinds) + F.kl_div(moved, plain, reduction="batchmean", log_target=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
