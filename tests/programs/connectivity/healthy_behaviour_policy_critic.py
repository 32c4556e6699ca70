# guards: AD218 AD216
"""Off-policy actor-critic: actions sampled from the live actor are data for the critic; the actor learns by weighted log-likelihood."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Independent, Normal


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.log_std = nn.Parameter(torch.zeros(act) - 0.3)

    def forward(self, obs):
        return Independent(Normal(self.net(obs), self.log_std.exp().expand(obs.shape[0], -1)), 1)


torch.manual_seed(0)
actor = Actor(4, 2)
critic = nn.Sequential(nn.Linear(6, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
c_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
K = torch.randn(4, 2) * 0.5


def q(o, a):
    return critic(torch.cat([o, a], -1)).squeeze(-1)


for step in range(40):
    obs = torch.randn(256, 4)
    act = actor(obs).sample()
    reward = -(act - obs @ K).abs().sum(-1)
    nxt = 0.7 * obs + 0.3 * torch.randn_like(obs)
    target = reward + 0.5 * q(nxt, actor(nxt).sample()).detach()
    critic_loss = F.mse_loss(q(obs, act), target)
    c_opt.zero_grad()
    critic_loss.backward()
    c_opt.step()

    dist = actor(obs)
    candidates = dist.sample((8,))
    with torch.no_grad():
        values = torch.stack([q(obs, c) for c in candidates])
        w = F.softmax(values / 0.5, dim=0)
    actor_loss = -(w * dist.log_prob(candidates)).sum(0).mean()
    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()
    if step % 10 == 0:
        print(step, f"critic {critic_loss.item():.3f} reward {reward.mean().item():.3f}")
