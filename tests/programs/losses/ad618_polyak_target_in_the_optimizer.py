import copy

import torch
import torch.nn as nn


class DDPG(nn.Module):
    def __init__(self, obs=4, act=1, tau=0.05):
        super().__init__()
        self.tau = tau
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, act), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(obs + act, 32), nn.ReLU(), nn.Linear(32, 1))
        self.critic_target = copy.deepcopy(self.critic)

    def q(self, net, s, a):
        return net(torch.cat([s, a], dim=-1)).squeeze(-1)

    def critic_loss(self, s, a, r, s2, done, gamma=0.98):
        with torch.no_grad():
            a2 = self.actor(s2)
        future = self.q(self.critic_target, s2, a2)
        target = r + gamma * (1 - done) * future  # <- AD618
        return ((self.q(self.critic, s, a) - target) ** 2).mean()

    def follow(self):
        with torch.no_grad():
            for mine, theirs in zip(self.critic_target.parameters(), self.critic.parameters(), strict=True):
                mine.mul_(1 - self.tau).add_(self.tau * theirs)


def transitions(n):
    s = torch.randn(n, 4)
    a = torch.rand(n, 1) * 2 - 1
    s2 = 0.9 * s + 0.3 * a + 0.05 * torch.randn(n, 4)
    return s, a, -s2.square().mean(1), s2, (torch.rand(n) < 0.05).float()


torch.manual_seed(0)
agent = DDPG()
critic_params = [p for name, p in agent.named_parameters() if name.startswith("critic")]
critic_opt = torch.optim.Adam(critic_params, lr=1e-3)
actor_opt = torch.optim.Adam(agent.actor.parameters(), lr=5e-4)
for step in range(60):
    batch = transitions(64)
    loss = agent.critic_loss(*batch)
    critic_opt.zero_grad()
    loss.backward()
    critic_opt.step()
    actor_loss = -agent.q(agent.critic, batch[0], agent.actor(batch[0])).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    agent.follow()
print(loss.item(), actor_loss.item())
