# guards: AD218
"""A Gaussian policy gradient whose log-probability is written out, with a critic of states and actions in one loss."""
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
policy = nn.Linear(4, 2); log_std = nn.Parameter(torch.zeros(2)); q = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam([*policy.parameters(), log_std, *q.parameters()], lr=1e-2)
for step in range(20):
    s = torch.randn(64, 4)
    mu, std = policy(s), log_std.exp()
    a = Normal(mu, std).sample()
    logp = (-0.5 * ((a - mu) / std) ** 2 - log_std).sum(1)
    r = -(a - s[:, :2]).pow(2).sum(1)
    v = q(torch.cat([s, a], 1)).squeeze(1)
    loss = -(logp * (r - r.mean())).mean() + (v - r).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
