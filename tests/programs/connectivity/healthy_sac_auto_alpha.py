# guards: AD216
"""SAC with a learned entropy coefficient: alpha is detached in the actor loss and has its own loss."""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal


class Actor(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(o, 32), nn.ReLU())
        self.mu, self.ls = nn.Linear(32, a), nn.Linear(32, a)

    def forward(self, o):
        h = self.trunk(o)
        d = Normal(self.mu(h), self.ls(h).clamp(-5, 1).exp())
        u = d.rsample()
        a = torch.tanh(u)
        logp = (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1)
        return a, logp


class Twin(nn.Module):
    def __init__(self, o, a):
        super().__init__()
        make = lambda: nn.Sequential(nn.Linear(o + a, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q1, self.q2 = make(), make()

    def forward(self, o, a):
        x = torch.cat([o, a], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


torch.manual_seed(0)
O, A, GAMMA = 5, 2, 0.9
actor, critic = Actor(O, A), Twin(O, A)
target = copy.deepcopy(critic).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
opt_a = torch.optim.Adam(actor.parameters(), lr=3e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=3e-3)
opt_alpha = torch.optim.Adam([log_alpha], lr=3e-3)
K = torch.randn(O, A) * 0.3

for step in range(25):
    obs, nxt = torch.randn(64, O), torch.randn(64, O)
    with torch.no_grad():
        act, _ = actor(obs)
        rew = -(act - torch.tanh(obs @ K)).pow(2).sum(-1)
        a2, lp2 = actor(nxt)
        y = rew + GAMMA * (torch.min(*target(nxt, a2)) - log_alpha.exp() * lp2)
    q1, q2 = critic(obs, act)
    c_loss = F.mse_loss(q1, y) + F.mse_loss(q2, y)
    opt_c.zero_grad()
    c_loss.backward()
    opt_c.step()

    critic.requires_grad_(False)
    a, logp = actor(obs)
    alpha = log_alpha.exp().detach()
    a_loss = (alpha * logp - torch.min(*critic(obs, a))).mean()
    opt_a.zero_grad()
    a_loss.backward()
    opt_a.step()
    critic.requires_grad_(True)

    alpha_loss = -(log_alpha * (logp + -A).detach()).mean()
    opt_alpha.zero_grad()
    alpha_loss.backward()
    opt_alpha.step()

    with torch.no_grad():
        for p, tp in zip(critic.parameters(), target.parameters()):
            tp.mul_(0.95).add_(p, alpha=0.05)
    if step % 8 == 0:
        print(f"{step} critic {c_loss.item():.3f} actor {a_loss.item():.3f} alpha {alpha.item():.3f}")
