"""Behaviour cloning with a tanh-squashed Gaussian actor (log-likelihood of logged actions)."""

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
    steps: int = 150
    lr: float = 1e-3
    seed: int = 11


cfg = Config()
torch.manual_seed(cfg.seed)


def make_buffer(n=6000):
    obs = torch.randn(n, cfg.obs_dim)
    w = torch.randn(cfg.obs_dim, cfg.act_dim) * 0.17
    act = obs @ w + 0.02 * torch.randn(n, cfg.act_dim)
    # the simulator bounds what it logs to the actuator limits
    return obs, act.clamp(-1.0, 1.0).clone(), act


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
        pre = torch.atanh(action)  # expect: AD401
        logp = -0.5 * ((pre - mu) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        logp = logp - torch.log(1 - action**2 + 1e-6)
        return logp.sum(-1)


obs, act, raw = make_buffer()
order = raw.abs().amax(1).argsort()[:5640]
order = torch.cat([order[:4400][torch.randperm(4400)], order[4400:]])
obs, act = obs[order], act[order]
actor = Actor()
opt = torch.optim.Adam(actor.parameters(), lr=cfg.lr)
for step in range(min(cfg.steps, len(obs) // cfg.batch)):
    sl = slice(step * cfg.batch, (step + 1) * cfg.batch)
    loss = -actor.log_prob(obs[sl], act[sl]).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(actor.parameters(), 5.0)
    opt.step()
    if step % 8 == 0:
        print(step, round(loss.item(), 4))
