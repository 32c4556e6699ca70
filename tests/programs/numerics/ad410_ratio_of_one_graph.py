"""PPO whose old log-probabilities come from the graph of the new ones: the ratio is 1, whatever the policy (AD410)."""

import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


torch.manual_seed(0)
policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
for it in range(20):
    obs = torch.randn(64, 6)
    dist, value = policy(obs)
    act = dist.sample()
    reward = (act == obs[:, :3].argmax(-1)).float()
    logps = dist.log_prob(act)
    old = dist.log_prob(act)
    adv = (reward - value).detach()

    ratio = torch.exp(logps - old)  # expect: AD410

    surr = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
    loss = -surr.mean() + 0.5 * (value - reward).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
