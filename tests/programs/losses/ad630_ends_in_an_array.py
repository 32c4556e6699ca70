"""The same with an environment in NumPy: the ends are floats in an array, and are forgotten."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class Walk:
    def __init__(self):
        self.random = np.random.default_rng(0)

    def reset(self):
        self.state = self.random.standard_normal(4).astype("f4")
        return self.state

    def step(self, action):
        self.state = (0.8 * self.state + 0.7 * self.random.standard_normal(4)).astype("f4")
        return self.state, float(action == (self.state[0] > 0)), bool(np.abs(self.state).max() > 2)


torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
walk = Walk()
state = walk.reset()
for update in range(6):
    rollout = []
    for _ in range(24):
        with torch.no_grad():
            action = Categorical(logits=actor(torch.from_numpy(state))).sample().item()
        following, reward, ended = walk.step(action)
        rollout.append((state, action, reward, following, ended))
        state = walk.reset() if ended else following
    states, actions, rewards, next_states, ends = (np.array(column) for column in zip(*rollout))
    states, next_states, actions = map(torch.from_numpy, (states, next_states, actions))
    rewards, ends = (torch.tensor(column, dtype=torch.float32) for column in (rewards, ends))
    with torch.no_grad():
        returns = rewards + 0.95 * critic(next_states).squeeze(-1)  # expect: AD630
    values = critic(states).squeeze(-1)
    chosen = Categorical(logits=actor(states)).log_prob(actions)
    loss = nn.functional.mse_loss(values, returns) - (chosen * (returns - values).detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
