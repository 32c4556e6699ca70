# guards: AD401 AD402
"""Contextual bandit, REINFORCE."""

import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

N_ARMS, N_CTX, ITERS, LR, ENT = 6, 8, 300, 0.05, 1e-3
best_arm = torch.randint(0, N_ARMS, (N_CTX,))


class Policy(nn.Module):
    def __init__(self, n_ctx, n_arms):
        super().__init__()
        self.emb = nn.Embedding(n_ctx, 32)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, n_arms))

    def forward(self, c):
        return F.log_softmax(self.body(self.emb(c)), dim=-1)


def pull(ctx, arm):
    hit = (best_arm[ctx] == arm).float()
    return hit + 0.1 * torch.randn(len(ctx))


policy = Policy(N_CTX, N_ARMS)
opt = torch.optim.Adam(policy.parameters(), lr=LR)
baseline = 0.0
for it in range(ITERS):
    ctx = torch.randint(0, N_CTX, (64,))
    logp = policy(ctx)
    probs = logp.exp()
    arm = torch.multinomial(probs.detach(), 1).squeeze(1)
    reward = pull(ctx, arm)
    advantage = reward - baseline
    baseline = 0.95 * baseline + 0.05 * reward.mean().item()
    entropy = -(probs * logp).sum(1)
    loss = -(advantage * logp.gather(1, arm[:, None]).squeeze(1)).mean() - ENT * entropy.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(f"iter {it:4d} reward {reward.mean():.3f} entropy {entropy.mean():.4f}")
