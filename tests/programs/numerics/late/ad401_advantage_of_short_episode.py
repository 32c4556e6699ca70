import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(7)


class ChainEnv:
    """Walk right to reach the goal; the hole at 0 ends the episode."""

    def __init__(self, length=7):
        self.length = length

    def obs(self):
        o = torch.zeros(self.length)
        o[self.pos] = 1.0
        return o

    def reset(self, start=None):
        self.pos = self.length // 2 if start is None else start
        self.t = 0
        return self.obs()

    def step(self, a):
        self.pos += 1 if a == 1 else -1
        self.t += 1
        done = self.pos in (0, self.length - 1) or self.t >= 8
        r = 1.0 if self.pos == self.length - 1 else (-1.0 if self.pos == 0 else -0.02)
        return self.obs(), r, done


class ActorCritic(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


env, net = ChainEnv(), ActorCritic(7)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
gamma, clip = 0.97, 0.2
for episode in range(30):
    start = None if episode < 16 else int(torch.randint(2, 6, (1,)))
    o, done, traj = env.reset(start), False, []
    while not done:
        with torch.no_grad():
            dist = Categorical(logits=net(o)[0])
        a = dist.sample()
        o2, r, done = env.step(a.item())
        traj.append((o, a, r, dist.log_prob(a)))
        o = o2
    obs = torch.stack([s[0] for s in traj])
    act = torch.stack([s[1] for s in traj])
    old = torch.stack([s[3] for s in traj])
    ret, g = [], 0.0
    for s in reversed(traj):
        g = s[2] + gamma * g
        ret.insert(0, g)
    ret = torch.tensor(ret)
    for _ in range(4):
        logits, v = net(obs)
        adv = ret - v.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)  # expect: AD401
        dist = Categorical(logits=logits, validate_args=False)
        ratio = (dist.log_prob(act) - old).exp()
        pg = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv).mean()
        loss = pg + 0.5 * F.mse_loss(v, ret) - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if episode % 10 == 0:
        print(f"ep {episode} len {len(traj)} return {ret[0]:.2f} loss {loss.item():.3f}")
    if loss.isnan():
        break
