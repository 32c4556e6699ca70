# guards: AD606 AD410
"""A physical model of a pendulum learns its constants first; a network that corrects it begins at zero, and is added
with a weight that rises once they have settled."""

import math

import torch
from torch import nn

torch.manual_seed(2)


class Pendulum(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_length, self.drag = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.tensor([[0.0]]))

    def forward(self, state):
        angle, speed = state[:, :1], state[:, 1:]
        return -9.81 / self.log_length.exp() * angle - speed @ self.drag


class Correction(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.inner, self.outer = nn.Linear(2, width), nn.Linear(width, 1, bias=False)
        nn.init.constant_(self.outer.weight, 0.0)

    def forward(self, state):
        return self.outer(torch.tanh(self.inner(state)))


physics, correction = Pendulum(), Correction()
optimizer = torch.optim.Adam([{"params": physics.parameters(), "lr": 0.05}, {"params": correction.parameters()}])
for step in range(30):
    state = torch.randn(48, 2)
    truth = -9.81 / 1.2 * state[:, :1].sin() - 0.3 * state[:, 1:] * state[:, 1:].abs()
    weight = torch.tensor(max(0.0, 1 - math.exp(-(step - 16) / 3)) if step > 16 else 0.0)
    acceleration = physics(state) + weight * correction(state)
    loss = nn.functional.smooth_l1_loss(acceleration, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
