# guards: AD218
"""REINFORCE with a Gaussian policy: sample() drives the rollout, log_prob carries the gradient, returns are normalised."""
import torch
from torch import nn
from torch.distributions import MultivariateNormal


class PointMass:
    def __init__(self, batch):
        self.x = torch.randn(batch, 2)

    def step(self, u):
        self.x = self.x + 0.3 * u.clamp(-1, 1)
        return self.x.clone(), -self.x.norm(dim=1)


class Pi(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.7))

    def forward(self, s):
        return MultivariateNormal(self.mu(s), scale_tril=torch.diag(self.log_std.exp()))


def episode(pi, batch=48, horizon=6):
    env = PointMass(batch)
    s, logps, rewards = env.x.clone(), [], []
    for _ in range(horizon):
        d = pi(s)
        u = d.sample()
        logps.append(d.log_prob(u))
        s, r = env.step(u)
        rewards.append(r)
    togo = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    return torch.stack(logps), togo


torch.manual_seed(0)
pi = Pi()
opt = torch.optim.Adam(pi.parameters(), lr=2e-2)
for k in range(30):
    logps, togo = episode(pi)
    adv = (togo - togo.mean(1, keepdim=True)) / (togo.std(1, keepdim=True) + 1e-6)
    loss = -(logps * adv).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if k % 10 == 9:
        print(f"iteration {k + 1}: return {togo[0].mean().item():.3f}")
