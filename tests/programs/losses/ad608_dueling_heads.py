"""Fitted Q-iteration with a dueling network on a small chain of rooms."""

import random
from collections import deque

import torch
import torch.nn as nn

ROOMS, ACTIONS = 8, 3


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(ROOMS, 24), nn.ReLU())
        self.value = nn.Linear(24, 1)
        self.advantage = nn.Linear(24, ACTIONS)

    def forward(self, rooms):
        hidden = self.trunk(rooms)
        advantage = self.advantage(hidden)
        return self.value(hidden) + (advantage - advantage.mean())  # expect: AD608


def move(room, action):
    after = min(max(room + action - 1, 0), ROOMS - 1)
    return after, float(after == ROOMS - 1)


def encode(rooms):
    return nn.functional.one_hot(torch.tensor(rooms), ROOMS).float()


random.seed(0)
torch.manual_seed(0)
online, target = Dueling(), Dueling()
target.load_state_dict(online.state_dict())
optimizer = torch.optim.Adam(online.parameters(), lr=2e-3)
memory = deque(maxlen=500)
room = 0
for step in range(60):
    for _ in range(8):
        with torch.no_grad():
            greedy = online(encode([room])).argmax().item()
        action = random.randrange(ACTIONS) if random.random() < 0.3 else greedy
        after, reward = move(room, action)
        memory.append((room, action, reward, after))
        room = 0 if reward else after
    if len(memory) < 64:
        continue
    rooms, actions, rewards, afters = zip(*random.sample(list(memory), 32), strict=True)
    chosen = online(encode(rooms)).gather(1, torch.tensor(actions).unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        goal = torch.tensor(rewards) + 0.9 * target(encode(afters)).max(1).values
    loss = nn.functional.smooth_l1_loss(chosen, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        target.load_state_dict(online.state_dict())
        print(step, round(loss.item(), 5))
