# guards: AD401
"""Behaviour cloning with a tanh-squashed Gaussian actor."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    obs_dim: int = 10
    act_dim: int = 3
    hidden: int = 64
    batch: int = 64
    steps: int = 200
    lr: float = 1e-3
    eps: float = 1e-5
    seed: int = 12


cfg = Config()
torch.manual_seed(cfg.seed)


def make_buffer(n=6000):
    obs = torch.randn(n, cfg.obs_dim)
    w = torch.randn(cfg.obs_dim, cfg.act_dim) * 0.2
    act = obs @ w + 0.05 * torch.randn(n, cfg.act_dim)
    return obs, act.clamp(-1.0, 1.0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(cfg.obs_dim, cfg.hidden),
            nn.ReLU(),
            nn.Linear(cfg.hidden, cfg.hidden),
            nn.ReLU(),
        )
        self.mu = nn.Linear(cfg.hidden, cfg.act_dim)
        self.log_std = nn.Linear(cfg.hidden, cfg.act_dim)

    def log_prob(self, obs, action):
        h = self.trunk(obs)
        mu, log_std = self.mu(h), self.log_std(h).clamp(-5, 2)
        a = action.clamp(-1 + cfg.eps, 1 - cfg.eps)
        pre = torch.atanh(a)
        logp = -0.5 * ((pre - mu) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        logp = logp - torch.log(1 - a**2)
        return logp.sum(-1)


obs, act = make_buffer()
print("share of clipped actions", (act.abs() == 1).float().mean().item())
actor = Actor()
opt = torch.optim.Adam(actor.parameters(), lr=cfg.lr)
for step in range(cfg.steps):
    idx = torch.randint(0, len(obs), (cfg.batch,))
    loss = -actor.log_prob(obs[idx], act[idx]).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 5.0)
    opt.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
