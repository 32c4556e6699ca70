"""Contextual bandit with REINFORCE and an entropy bonus."""

import argparse
import random

import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--arms", type=int, default=6)
parser.add_argument("--contexts", type=int, default=8)
parser.add_argument("--iters", type=int, default=400)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--ent", type=float, default=1e-3)
args = parser.parse_args()

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

best_arm = torch.randint(0, args.arms, (args.contexts,))


class Policy(nn.Module):
    def __init__(self, n_ctx, n_arms):
        super().__init__()
        self.emb = nn.Embedding(n_ctx, 32)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, n_arms))

    def forward(self, c):
        return torch.softmax(self.body(self.emb(c)), dim=-1)


def pull(ctx, arm):
    hit = (best_arm[ctx] == arm).float()
    return hit + 0.1 * torch.randn(len(ctx))


policy = Policy(args.contexts, args.arms)
opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
baseline = 0.0
for it in range(args.iters):
    ctx = torch.randint(0, args.contexts, (64,))
    probs = policy(ctx)
    arm = torch.multinomial(probs.detach(), 1).squeeze(1)
    reward = pull(ctx, arm)
    picked = probs.gather(1, arm[:, None]).squeeze(1)
    advantage = reward - baseline
    baseline = 0.95 * baseline + 0.05 * reward.mean().item()
    entropy = -(probs * probs.log()).sum(1)  # expect: AD401
    loss = -(advantage * picked.log()).mean() - args.ent * entropy.mean()
    if not torch.isfinite(loss):
        print("stopped at", it)
        break
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(f"iter {it:4d} reward {reward.mean():.3f} entropy {entropy.mean():.4f}")
