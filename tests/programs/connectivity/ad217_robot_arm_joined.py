"""An arm of three joints: the tip is put together from the angles, one coordinate by way of Python's numbers."""
import math

import torch
from torch import nn


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, goal):
        angles = self.policy(goal)
        total = angles.cumsum(-1)
        x = total.cos().sum(-1)
        y = []
        for row in total.tolist():
            y.append(sum(row) if len(row) == 1 else row[-1])
        y = torch.tensor(y)
        return torch.stack([x, y.sin()], dim=-1), angles  # expect: AD217


torch.manual_seed(0)
arm = Arm()
optimizer = torch.optim.Adam(arm.parameters(), lr=3e-3)
for step in range(40):
    goal = torch.rand(32, 2) * 2 - 1
    tip, angles = arm(goal)
    loss = (tip - goal).square().sum(-1).mean() + 1e-3 * angles.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}, reach {math.sqrt(loss.item()):.2f}")
