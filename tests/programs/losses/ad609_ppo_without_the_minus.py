"""A walk along a corridor, learned by clipped ratios; the objective goes into the loss as it is."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Corridor:
    """Walk right to the end."""

    def __init__(self, n=32):
        self.x = torch.zeros(n)

    def observe(self):
        return torch.stack([self.x / 5, (self.x / 5) ** 2], dim=1)

    def step(self, action):
        self.x = (self.x + action.float() * 2 - 1).clamp(-5, 5)
        return (self.x > 3).float()


actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)
for iteration in range(6):
    env = Corridor()
    S, A, L, R = [], [], [], []
    with torch.no_grad():
        for t in range(7):
            s = env.observe()
            d = Categorical(logits=actor(s))
            a = d.sample()
            S.append(s), A.append(a), L.append(d.log_prob(a)), R.append(env.step(a))
    returns, g = [], torch.zeros(32)
    for r in reversed(R):
        g = r + 0.95 * g
        returns.insert(0, g)
    S, A, L, G = torch.cat(S), torch.cat(A), torch.cat(L), torch.cat(returns)
    for epoch in range(4):
        dist = Categorical(logits=actor(S))
        value = critic(S).squeeze(1)
        adv = (G - value).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        ratio = torch.exp(dist.log_prob(A) - L)
        surr1 = ratio * adv
        surr2 = torch.clamp(ratio, 0.8, 1.2) * adv
        policy_loss = torch.min(surr1, surr2).mean()  # expect: AD609
        loss = policy_loss + 0.5 * (value - G).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(iteration, G.mean().item())
