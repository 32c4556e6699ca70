# guards: AD628 AD631
import torch
from torch import nn
from torch.distributions import Categorical


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 3), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def reward(s, a):
    return 1.0 - (s.argmax(1) - a).abs().float()


torch.manual_seed(0)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
for update in range(10):
    s = torch.randn(96, 3)
    with torch.no_grad():
        pi, old_v = agent(s)
        a = pi.sample()
        old_logp = pi.log_prob(a)
    r = reward(s, a)
    adv = r - old_v
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for idx in torch.randperm(96).split(32):
        pi, v = agent(s[idx])
        ratio = (pi.log_prob(a[idx]) - old_logp[idx]).exp()
        surrogate = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx])
        value_loss = 0.5 * (v - r[idx]).pow(2).mean()
        entropy = pi.entropy().mean()
        approx_kl = (ratio - 1 - ratio.log()).sum().item() / len(idx)
        penalty = sum(p.pow(2).sum() for p in agent.pi.parameters()) * 1e-4
        loss = -surrogate.mean() + value_loss - 0.01 * entropy + penalty
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    print(update, r.mean().item(), approx_kl)
