# guards: AD211
# hinted: AD211
"""An agent acts with dropout, which is how it explores, learns from what it has seen, and is tried out without."""

import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
values = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 2))
optimizer = torch.optim.Adam(values.parameters(), lr=3e-3)
memory = []


def push(place, speed, right):
    speed = 0.9 * speed + (0.1 if right else -0.1)
    return place + speed, speed, -abs(place + speed)


for episode in range(4):
    values.train()
    place, speed = random.uniform(-1, 1), 0.0
    for _ in range(10):
        with torch.no_grad():
            action = values(torch.tensor([place, speed])).argmax().item()
        state, (place, speed, reward) = (place, speed), push(place, speed, action)
        memory.append((state, action, reward, (place, speed)))
    for _ in range(5):
        states, actions, rewards, following = map(torch.tensor, zip(*random.sample(memory, min(len(memory), 24))))
        with torch.no_grad():
            targets = rewards + 0.9 * values(following).amax(1)
        loss = nn.functional.smooth_l1_loss(values(states).gather(1, actions[:, None]).squeeze(1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    values.eval()
    place, speed, total = 1.0, 0.0, 0.0
    for _ in range(6):
        with torch.no_grad():
            action = values(torch.tensor([place, speed])).argmax().item()
        place, speed, reward = push(place, speed, action)
        total += reward
    print(total)
