import copy
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = (nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1)) for _ in range(2))

    def forward(self, s, a):
        x = torch.cat([s, a], 1)
        return self.one(x), self.two(x)


rng = np.random.default_rng(0)
torch.manual_seed(0)
obs = np.zeros((400, 2), np.float32)
nxt, act, rew, not_done = obs.copy(), np.zeros((400, 1), np.float32), np.zeros((400, 1), np.float32), np.zeros((400, 1), np.float32)
x = rng.standard_normal(2).astype(np.float32)
for i in range(400):
    a = rng.uniform(-1, 1, 1).astype(np.float32)
    y = (x + 0.2 * a + 0.1 * rng.standard_normal(2)).astype(np.float32)
    over = abs(y).max() > 1.2
    obs[i], nxt[i], act[i], rew[i], not_done[i] = x, y, a, -abs(y).sum(), 1.0 - over
    x = rng.uniform(-1, 1, 2).astype(np.float32) if over else y
actor, critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh()), Critic()
late_actor, late_critic = copy.deepcopy(actor), copy.deepcopy(critic)
opt = torch.optim.Adam(critic.parameters(), 1e-3)
pi = torch.optim.Adam(actor.parameters(), 1e-3)
for step in range(10):
    rows = rng.integers(0, 400, 80)
    s, s2, a, r, going = (torch.from_numpy(each[rows]) for each in (obs, nxt, act, rew, not_done))
    with torch.no_grad():
        q1, q2 = late_critic(s2, late_actor(s2))
        y = r + (1 - going) * 0.98 * torch.min(q1, q2)  # expect: AD630
    p1, p2 = critic(s, a)
    opt.zero_grad()
    (F.mse_loss(p1, y) + F.mse_loss(p2, y)).backward()
    opt.step()
    pi.zero_grad()
    (-critic(s, actor(s))[0].mean()).backward()
    pi.step()
    with torch.no_grad():
        for net, late in ((actor, late_actor), (critic, late_critic)):
            for w, v in zip(net.parameters(), late.parameters()):
                v.lerp_(w, 0.01)
