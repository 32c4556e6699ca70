# guards: AD709
"""Zeroth-order probes with a seed of their own per step, beside a first-order optimizer; a fixed seed per epoch."""

import random

import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(120, 5)
target = data.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)


def perturb(seed, scale):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(scale * torch.randn_like(p))
    torch.set_rng_state(state)


@torch.no_grad()
def sharpness(x, y, seed):
    base = nn.functional.mse_loss(model(x), y)
    perturb(seed, 1e-3)
    moved = nn.functional.mse_loss(model(x), y)
    perturb(seed, -1e-3)
    return (moved - base).item()


for epoch in range(3):
    random.seed(99)
    order = list(range(120))
    random.shuffle(order)
    for start in range(0, 120, 20):
        rows = torch.tensor(order[start : start + 20])
        loss = nn.functional.mse_loss(model(data[rows]), target[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        sharpness(data, target, seed=11)
        model.train()
