"""Reptile on sine waves; the inner optimizer is built over the model that is copied, and not over its copy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)


class Wave:
    def __init__(self):
        self.height = 0.5 + 2 * torch.rand(())
        self.phase = 3 * torch.rand(())

    def sample(self, count):
        x = 10 * torch.rand(count, 1) - 5
        return x, self.height * torch.sin(x + self.phase)


def adapted(model, task, steps=6):
    learner = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)  # <- AD205
    for _ in range(steps):
        x, y = task.sample(16)
        learner.zero_grad()
        F.mse_loss(learner(x), y).backward()
        optimizer.step()
    return learner


model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
for round_ in range(5):
    learner = adapted(model, Wave())
    with torch.no_grad():
        for own, learned in zip(model.parameters(), learner.parameters(), strict=True):
            own.lerp_(learned, 0.5)
        x, y = Wave().sample(100)
        print(round_, F.mse_loss(model(x), y).item())
