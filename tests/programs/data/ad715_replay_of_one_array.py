import collections
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim


class Pendulum:
    def __init__(self):
        self.state = np.array([0.1, 0.0, 0.0, 1.0], dtype=np.float32)

    def step(self, torque):
        angle, speed = self.state[0], self.state[1]
        speed = 0.95 * speed + 0.05 * torque + 0.1 * np.sin(angle) + 0.02 * random.gauss(0, 1)
        angle = np.clip(angle + 0.1 * speed, -1.5, 1.5)
        self.state[:] = angle, speed, np.sin(angle), np.cos(angle)
        return self.state, -float(angle**2)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, state, action):
        return self.layers(torch.cat([state, action], 1)).squeeze(1)


Transition = collections.namedtuple("Transition", "state action reward")
random.seed(0)
torch.manual_seed(0)
env, critic, history = Pendulum(), Critic(), collections.deque(maxlen=500)
optimizer = optim.Adam(critic.parameters(), lr=1e-3)
state = env.state
for t in range(160):
    action = random.uniform(-2, 2)
    following, reward = env.step(action)
    history.append(Transition(state, action, reward))
    state = following
    if t < 64:
        continue
    batch = Transition(*zip(*random.sample(history, 32), strict=True))
    states = torch.as_tensor(np.stack(batch.state))
    actions = torch.tensor(batch.action)[:, None]
    predicted = critic(states, actions)  # <- AD715
    loss = F.mse_loss(predicted, torch.tensor(batch.reward))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
