import copy
import random

import torch
from torch import nn


class Chain:
    """Six rooms in a row; the last one pays."""

    def reset(self):
        self.room = 0
        return self.room

    def step(self, action):
        self.room = max(0, self.room + (1 if action else -1))
        return self.room, float(self.room == 5), self.room == 5


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Embedding(6, 16), nn.ReLU(), nn.Linear(16, 2))
        self.lagged = copy.deepcopy(self.net).requires_grad_(False)
        self.optimizer = torch.optim.RMSprop(self.net.parameters(), lr=5e-3)
        self.memory = []

    def learn(self):
        rooms, actions, following, pay, over = map(torch.tensor, zip(*random.choices(self.memory, k=32)))
        value = self.net(rooms).gather(1, actions[:, None])[:, 0]
        future = self.lagged(following).amax(1) * (1 - over.float())
        loss = nn.functional.smooth_l1_loss(value, pay + 0.9 * future)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.lag(0.05)

    def lag(self, rate):
        with torch.no_grad():
            for old, new in zip(self.lagged.state_dict().values(), self.net.parameters()):
                old = torch.lerp(old, new, rate)  # expect: AD227


torch.manual_seed(4)
random.seed(4)
agent, world = Agent(), Chain()
room = world.reset()
for turn in range(120):
    action = random.randrange(2) if random.random() < 0.3 else int(agent.net(torch.tensor(room)).argmax())
    after, pay, over = world.step(action)
    agent.memory.append((room, action, after, pay, over))
    room = world.reset() if over else after
    if len(agent.memory) > 32:
        agent.learn()
