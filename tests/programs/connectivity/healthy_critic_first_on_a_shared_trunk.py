# guards: AD218
"""The critic goes backward first, on a trunk that it shares with the policy, and on the action that was drawn."""
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(4, 16), nn.Tanh()); mu = nn.Linear(16, 2); q = nn.Linear(18, 1)
log_std = nn.Parameter(torch.zeros(2))
opt = torch.optim.Adam([*trunk.parameters(), *mu.parameters(), *q.parameters(), log_std], lr=1e-2)
for step in range(20):
    s = torch.randn(64, 4); h = trunk(s)
    d = Normal(mu(h), log_std.exp())
    a = d.sample()
    r = -(a - s[:, :2]).pow(2).sum(1)
    v = q(torch.cat([h, a], 1)).squeeze(1)
    opt.zero_grad()
    (v - r).pow(2).mean().backward(retain_graph=True)
    (-(d.log_prob(a).sum(1) * (r - v).detach()).mean() - 0.01 * d.entropy().sum(1).mean()).backward()
    opt.step()
