# guards: AD111
"""A policy of 16 bits: its optimizer moves full copies that it keeps in its state, and rounds them down after each step."""

import torch
from torch import nn


class WithCopies(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-5, decay=0.01):
        super().__init__(params, dict(lr=lr, decay=decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                state = self.state[p]
                full = state.setdefault("full", p.float())
                scale = state.setdefault("scale", torch.zeros_like(full))
                scale.mul_(0.95).add_(p.grad.float().square(), alpha=0.05)
                full.mul_(1 - group["lr"] * group["decay"]).sub_(group["lr"] * p.grad.float() / (scale.sqrt() + 1e-6))
                p.copy_(full)


torch.manual_seed(4)
policy = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4)).bfloat16()
optimizer = WithCopies(policy.parameters())
best = torch.randn(10, 4)
for _ in range(30):
    seen = torch.randn(128, 10)
    chance = torch.distributions.Categorical(logits=policy(seen.bfloat16()).float())
    chosen = chance.sample()
    gained = (seen @ best).gather(1, chosen[:, None]).squeeze(1)
    loss = -(chance.log_prob(chosen) * (gained - gained.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
