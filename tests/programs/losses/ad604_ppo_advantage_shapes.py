"""Clipped policy optimisation; values come out of the critic as a column."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(7)


class ActorCritic(nn.Module):
    def __init__(self, obs=5, acts=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, acts), nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h)


net = ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for update in range(6):
    obs = torch.randn(48, 5)
    with torch.no_grad():
        dist, value = net(obs)
        act = dist.sample()
        old_logp = dist.log_prob(act)
        ret = ((act == 0).float() * obs[:, 0]).view(-1, 1)
        adv = ret - value
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        dist, value = net(obs)
        ratio = (dist.log_prob(act) - old_logp).exp()
        surr1 = ratio * adv  # expect: AD604
        surr2 = ratio.clamp(0.8, 1.2) * adv
        policy_loss = -torch.min(surr1, surr2).mean()
        value_loss = 0.5 * (value - ret).pow(2).mean()
        loss = policy_loss + value_loss - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
