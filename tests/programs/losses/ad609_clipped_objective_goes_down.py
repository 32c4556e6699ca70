"""A bandit with contexts, whose probabilities are looked up by hand."""

import torch
import torch.nn as nn

torch.manual_seed(1)


class PPO:
    def __init__(self, clip=0.2):
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 3))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.clip = clip

    def log_prob(self, obs, act):
        return self.net(obs).log_softmax(-1).gather(1, act[:, None]).squeeze(1)

    def update(self, obs, act, old, adv):
        for _ in range(3):
            r = (self.log_prob(obs, act) - old).exp()
            objective = torch.minimum(r * adv, r.clamp(1 - self.clip, 1 + self.clip) * adv)  # expect: AD609
            self.opt.zero_grad()
            objective.mean().backward()
            self.opt.step()


agent = PPO()
for it in range(15):
    obs = torch.randn(128, 4)
    with torch.no_grad():
        p = agent.net(obs).softmax(-1)
        act = torch.multinomial(p, 1).squeeze(1)
        old = p.gather(1, act[:, None]).squeeze(1).log()
    reward = (act == obs[:, :3].argmax(1)).float()
    agent.update(obs, act, old, reward - reward.mean())
    print(it, reward.mean().item())
