"""Offline actor-critic in the manner of SAC with behaviour cloning."""
import copy

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.distributions import Independent, Normal

OBS, ACT, GAMMA, TAU, ALPHA = 6, 2, 0.9, 0.05, 0.05


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 48), nn.ReLU(), nn.Linear(48, o))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(OBS, 2 * ACT)

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=-1)
        return Independent(Normal(mean, log_std.clamp(-5, 2).exp()), 1)


class Agent:
    def __init__(self):
        self.actor = Actor()
        self.q = mlp(OBS + ACT, 1)
        self.q_target = copy.deepcopy(self.q).requires_grad_(False)
        self.actor_opt = optim.Adam(self.actor.parameters(), lr=3e-3)
        self.q_opt = optim.Adam(self.q.parameters(), lr=3e-3)

    def update_critic(self, o, a, r, o2):
        with torch.no_grad():
            a2 = self.actor(o2).sample()
            target = r + GAMMA * self.q_target(torch.cat([o2, a2], -1)).squeeze(-1)
        loss = F.mse_loss(self.q(torch.cat([o, a], -1)).squeeze(-1), target)
        self.q_opt.zero_grad()
        loss.backward()
        self.q_opt.step()
        return loss.item()

    def update_actor(self, o, a):
        self.q.requires_grad_(False)
        dist = self.actor(o)
        pi = dist.sample()  # expect: AD218
        q_pi = self.q(torch.cat([o, pi], -1))
        bc = F.mse_loss(dist.mean, a)
        loss = -q_pi.mean() - ALPHA * dist.entropy().mean() + 2.0 * bc
        self.actor_opt.zero_grad()
        loss.backward()
        self.actor_opt.step()
        self.q.requires_grad_(True)
        return loss.item()

    @torch.no_grad()
    def sync(self):
        for p, tp in zip(self.q.parameters(), self.q_target.parameters()):
            tp.lerp_(p, TAU)


def main():
    torch.manual_seed(0)
    K = torch.randn(OBS, ACT) * 0.4
    obs = torch.randn(600, OBS)
    act = obs @ K + 0.2 * torch.randn(600, ACT)
    rew = -(act - 1.2 * obs @ K).pow(2).sum(-1)
    nxt = 0.8 * obs + 0.3 * torch.randn_like(obs)
    agent = Agent()
    for step in range(30):
        i = torch.randint(0, 600, (64,))
        lq = agent.update_critic(obs[i], act[i], rew[i], nxt[i])
        lpi = agent.update_actor(obs[i], act[i])
        agent.sync()
        if step % 10 == 0:
            print(f"step {step}: q {lq:.3f} pi {lpi:.3f}")


main()
