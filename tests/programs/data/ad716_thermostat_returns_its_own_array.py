"""Heating of a room, learned by Q-learning from a buffer of transitions."""
import random
from collections import deque

import numpy as np
import torch
from torch import nn


class Room:
    def reset(self, rng):
        self.state = rng.uniform(-1, 1, 3).astype(np.float32)
        self.left = 12
        return self.state

    def step(self, heat):
        self.state[0] += 0.2 * (heat - 1) + 0.05 * self.state[1]
        self.state[1] *= 0.9
        self.state[2] = self.left / 12
        self.left -= 1
        return self.state, -abs(float(self.state[0])), self.left == 0


class Buffer(deque):
    def batch(self, n):
        s, a, r, following, done = zip(*random.sample(self, n))
        return (
            torch.from_numpy(np.stack(s)),
            torch.tensor(a),
            torch.tensor(r, dtype=torch.float32),
            torch.from_numpy(np.stack(following)),  # <- AD716
            torch.tensor(done, dtype=torch.float32),
        )


random.seed(0)
torch.manual_seed(0)
rng = np.random.default_rng(0)
room, buffer = Room(), Buffer(maxlen=2000)
q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3))
later = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3))
later.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
updates = 0
for episode in range(16):
    state, done = room.reset(rng), False
    while not done:
        with torch.no_grad():
            action = random.randrange(3) if random.random() < 0.3 else int(q(torch.from_numpy(state)).argmax())
        following, reward, done = room.step(action)
        buffer.append((state, action, reward, following, done))
        state = following
        if len(buffer) < 64:
            continue
        s, a, r, s2, d = buffer.batch(48)
        with torch.no_grad():
            target = r + 0.95 * (1 - d) * later(s2).max(1).values
        guess = q(s).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(guess, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
        if updates % 20 == 0:
            later.load_state_dict(q.state_dict())
