# guards: AD630
# hinted: AD630
"""A pendulum is swung up by an actor and a critic. Nothing ever ends it but the clock, after 40 moves, so the targets
are bootstrapped in every row; the marks of the clock come with the batch and are rightly left unused."""

import copy

import numpy as np
import torch
from torch import nn


class Pendulum:
    LIMIT = 40

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def reset(self):
        self.angle, self.speed, self.moves = self.random.uniform(-np.pi, np.pi), self.random.uniform(-1, 1), 0
        return self.seen()

    def seen(self):
        return np.array([np.cos(self.angle), np.sin(self.angle), self.speed], np.float32)

    def step(self, torque):
        cost = ((self.angle + np.pi) % (2 * np.pi) - np.pi) ** 2 + 0.1 * self.speed**2 + 0.001 * torque**2
        self.speed = float(np.clip(self.speed + 0.05 * (15 * np.sin(self.angle) + 3 * torque), -8, 8))
        self.angle, self.moves = self.angle + 0.05 * self.speed, self.moves + 1
        return self.seen(), -float(cost), self.moves >= self.LIMIT


torch.manual_seed(0)
rng = np.random.default_rng(1)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
slow_actor, slow_critic = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
pendulum, memory = Pendulum(0), []
state = pendulum.reset()
for move in range(520):
    with torch.no_grad():
        torque = float(2 * actor(torch.from_numpy(state))) + 0.3 * rng.standard_normal()
    following, reward, cut = pendulum.step(torque)
    memory.append((state, [torque], [reward], following, [float(cut)]))
    state = pendulum.reset() if cut else following
    if move < 400 or move % 4:
        continue
    rows = [memory[row] for row in rng.integers(0, len(memory), 64)]
    states, torques, rewards, after, cuts = (torch.as_tensor(np.array(each, np.float32)) for each in zip(*rows))
    with torch.no_grad():
        expected = slow_critic(torch.cat([after, 2 * slow_actor(after)], dim=1))
        wanted = rewards + 0.98 * expected
    critic_loss = nn.functional.mse_loss(critic(torch.cat([states, torques], dim=1)), wanted)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    critic.requires_grad_(False)
    actor_loss = -critic(torch.cat([states, 2 * actor(states)], dim=1)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    critic.requires_grad_(True)
    with torch.no_grad():
        for slow, fast in ((slow_actor, actor), (slow_critic, critic)):
            for old, new in zip(slow.parameters(), fast.parameters()):
                old.lerp_(new, 0.01)
