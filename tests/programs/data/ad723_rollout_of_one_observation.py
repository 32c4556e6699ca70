"""A policy learns from rollouts whose observations are one array, which each step of the game moves on."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

WIDTH = 5


class Corridor:
    def __init__(self) -> None:
        self.seen = np.zeros(WIDTH, dtype=np.float32)
        self.luck = np.random.default_rng(3)

    def reset(self):
        self.seen[:] = self.luck.normal(size=WIDTH)
        return self.seen

    def step(self, action):
        reward = float(self.seen[0] * (1.0 if action else -1.0))
        self.seen[:] = np.roll(self.seen, 1)
        self.seen[0] = self.luck.normal()
        return self.seen, reward


torch.manual_seed(0)
game = Corridor()
policy = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
observation = game.reset()
for rollout in range(40):
    states, actions, rewards = [], [], []
    for _ in range(12):
        state = torch.as_tensor(observation).unsqueeze(0)  # expect: AD723
        with torch.no_grad():
            action = Categorical(logits=policy(state)).sample()
        observation, reward = game.step(int(action))
        states.append(state)
        actions.append(action)
        rewards.append(reward)
    worth = torch.tensor(rewards)
    chances = Categorical(logits=policy(torch.cat(states)))
    loss = -(chances.log_prob(torch.cat(actions)) * (worth - worth.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
