# guards: AD405
"""Actor-critic on a cart that should keep rolling."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(77)


class Balance:
    """tilt x, speed v; push left or right; falls when |x| > 1"""

    def reset(self):
        self.s = 0.1 * torch.randn(2)
        self.t = 0
        return self.s.clone()

    def step(self, a):
        x, v = self.s.tolist()
        v = v + 0.1 * x + (0.05 if a else -0.05)
        x = x + 0.1 * v
        self.s = torch.tensor([x, v])
        self.t += 1
        return self.s.clone(), 1.0, abs(x) > 1 or self.t >= 150


pi = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
vf = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(list(pi.parameters()) + list(vf.parameters()), lr=1e-2)
env, hist = Balance(), []
for ep in range(60):
    s, done, S, A, R = env.reset(), False, [], [], []
    while not done:
        with torch.no_grad():
            a = Categorical(logits=pi(s)).sample()
        S.append(s)
        A.append(a)
        s, r, done = env.step(a.item())
        R.append(r)
    g, ret = 0.0, []
    for r in reversed(R):
        g = r + 0.98 * g
        ret.insert(0, g)
    S, A, ret = torch.stack(S), torch.stack(A), torch.tensor(ret)
    v = vf(S).squeeze(1)
    adv = ret - v.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    loss = -(Categorical(logits=pi(S)).log_prob(A) * adv).mean() + 0.01 * (v - ret).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    hist.append(sum(R))
    if ep % 6 == 5:
        print(ep, "mean return", sum(hist[-6:]) / 6, f"loss {loss.item():.3f}")
