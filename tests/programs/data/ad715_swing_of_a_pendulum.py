"""A model of how a pendulum moves, from what a simulation has logged."""

import numpy as np
import torch
from torch import nn


class Pendulum:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.state = np.array([0.5, 0.0], dtype=np.float32)

    def push(self, torque: float) -> np.ndarray:
        angle, speed = self.state
        self.state[1] += 0.05 * (torque - np.sin(angle)) + 0.01 * self.rng.normal()
        self.state[0] += 0.05 * self.state[1]
        return self.state


torch.manual_seed(0)
pendulum = Pendulum(seed=0)
log: list[tuple[np.ndarray, float]] = []
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for episode in range(40):
    for moment in range(8):
        before = float(pendulum.state[1])
        seen = pendulum.push(float(np.sin(0.3 * moment)))
        log.append((seen, float(seen[1]) - before))
    picked = pendulum.rng.choice(len(log), size=min(32, len(log)), replace=False)
    states = torch.as_tensor(np.array([log[row][0] for row in picked]))
    changes = torch.tensor([[log[row][1]] for row in picked])
    loss = nn.functional.mse_loss(model(states), changes)  # <- AD715
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
