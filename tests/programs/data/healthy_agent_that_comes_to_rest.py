# guards: AD721
"""Carts learn from a clumsy driver; all are let go once, at rest, and then one by one, until they are in the middle."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)


def start(carts):
    return np.concatenate([rng.uniform(1, 2, (carts, 2)), np.full((carts, 2), 0.001)], 1).astype(np.float32)


def drive(state, push):
    speed = 0.6 * state[:, 2:] + 0.4 * push
    return np.concatenate([state[:, :2] + 0.4 * speed, speed], 1).astype(np.float32)


states, pushes = [], []
state = start(64)
for _ in range(20):
    push = (-0.8 * state[:, :2] + 0.6 * rng.standard_normal((64, 2))).astype(np.float32)
    states.append(state)
    pushes.append(push)
    state = drive(state, push)
states, pushes = torch.from_numpy(np.concatenate(states)), torch.from_numpy(np.concatenate(pushes))

torch.manual_seed(0)
driver = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(driver.parameters(), lr=0.01)
for _ in range(28):
    rows = torch.randint(0, len(states), (128,))
    optimizer.zero_grad()
    nn.functional.mse_loss(driver(states[rows]), pushes[rows]).backward()
    optimizer.step()

carts = start(64)
with torch.no_grad():
    first = driver(torch.from_numpy(carts))
    for cart in np.split(carts, 16):
        for _ in range(3):
            cart = drive(cart, driver(torch.from_numpy(cart)).numpy())
print(first.abs().mean().item())
