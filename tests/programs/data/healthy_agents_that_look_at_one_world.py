# guards: AD723
"""Agents come one after the other, and each keeps a view of the world that they share, as it is at the time."""

import numpy as np
import torch
from torch import nn


class World:
    def __init__(self) -> None:
        self.luck = np.random.default_rng(0)
        self.state = self.luck.normal(size=4).astype(np.float32)

    def move(self) -> None:
        self.state *= 0.9
        self.state += 0.3 * self.luck.normal(size=4)


class Agent:
    def __init__(self, world: World, place: float) -> None:
        self.view = torch.from_numpy(world.state)
        self.place = torch.tensor([place])


torch.manual_seed(0)
world, agents = World(), []
for number in range(6):
    agents.append(Agent(world, number / 6))
    world.move()

model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(40):
    world.move()
    seen = torch.cat([torch.stack([agent.view for agent in agents]), torch.stack([a.place for a in agents])], dim=1)
    wanted = seen[:, :1] * seen[:, 4:] + seen[:, 1:2]
    loss = nn.functional.mse_loss(model(seen), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
