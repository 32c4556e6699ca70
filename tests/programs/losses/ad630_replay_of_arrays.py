import copy

import numpy as np
import torch
from torch import nn


class ReplayBuffer:
    def __init__(self, size, obs_dim):
        self.obs, self.next_obs = np.zeros((size, obs_dim), np.float32), np.zeros((size, obs_dim), np.float32)
        self.act, self.rew, self.done = np.zeros((size, 1), np.float32), np.zeros((size, 1), np.float32), np.zeros((size, 1), np.float32)
        self.count = 0

    def store(self, obs, act, rew, next_obs, done):
        i = self.count
        self.obs[i], self.act[i], self.rew[i], self.next_obs[i], self.done[i] = obs, act, rew, next_obs, done
        self.count += 1

    def sample(self, n, rng):
        rows = rng.integers(0, self.count, n)
        arrays = (self.obs, self.act, self.rew, self.next_obs, self.done)
        return [torch.as_tensor(array[rows]) for array in arrays]


rng = np.random.default_rng(0)
torch.manual_seed(0)
buffer = ReplayBuffer(1000, 2)
x = np.zeros(2, np.float32)
for _ in range(600):
    a = rng.uniform(-1, 1, 1).astype(np.float32)
    y = x + np.concatenate([0.2 * a, 0.1 * rng.standard_normal(1)]).astype(np.float32)
    over = bool(abs(y).max() > 0.5)
    buffer.store(x, a, -abs(y).sum(), y, over)
    x = np.zeros(2, np.float32) if over else y

actor = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
pi_opt, q_opt = torch.optim.Adam(actor.parameters(), lr=1e-3), torch.optim.Adam(critic.parameters(), lr=1e-3)
for update in range(20):
    o, a, r, o2, d = buffer.sample(64, rng)
    with torch.no_grad():
        q_next = critic_target(torch.cat([o2, actor_target(o2)], dim=1))
        backup = r + 0.98 * q_next  # <- AD630
    q_loss = ((critic(torch.cat([o, a], dim=1)) - backup) ** 2).mean()
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    for p in critic.parameters():
        p.requires_grad = False
    pi_loss = -critic(torch.cat([o, actor(o)], dim=1)).mean()
    pi_opt.zero_grad()
    pi_loss.backward()
    pi_opt.step()
    for p in critic.parameters():
        p.requires_grad = True
    with torch.no_grad():
        for net, target in ((actor, actor_target), (critic, critic_target)):
            for p, t in zip(net.parameters(), target.parameters()):
                t.mul_(0.99).add_(0.01 * p)
