# guards: AD201 AD101
"""TD3-like deterministic policy gradients with delayed actor updates, critics frozen while the actor learns."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1), nn.Tanh())
critics = nn.ModuleList(nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 1)) for _ in range(2))
actor_target, critics_target = copy.deepcopy(actor), copy.deepcopy(critics)
actor_opt = torch.optim.Adam(actor.parameters(), lr=2e-3)
critic_opt = torch.optim.Adam(critics.parameters(), lr=2e-3)


def q(networks, s, a):
    x = torch.cat([s, a], dim=1)
    return [network(x) for network in networks]


for step in range(30):
    s = torch.rand(64, 2) * 2 - 1
    with torch.no_grad():
        a = (actor(s) + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
        r = -(a - s[:, :1] * s[:, 1:]) ** 2
        s2 = torch.rand(64, 2) * 2 - 1
        a2 = (actor_target(s2) + (0.1 * torch.randn(64, 1)).clamp(-0.2, 0.2)).clamp(-1, 1)
        goal = r + 0.9 * torch.min(*q(critics_target, s2, a2))
    critic_loss = sum(F.mse_loss(value, goal) for value in q(critics, s, a))
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()
    if step % 2 == 0:
        critics.requires_grad_(False)
        actor_loss = -q(critics, s, actor(s))[0].mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        critics.requires_grad_(True)
        with torch.no_grad():
            for online, target in ((actor, actor_target), (critics, critics_target)):
                for p, t in zip(online.parameters(), target.parameters()):
                    t.lerp_(p, 0.05)
    if step % 10 == 0:
        print(step, critic_loss.item(), actor_loss.item())
