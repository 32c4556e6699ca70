# guards: AD218
"""Actor-critic on one differentiable environment, a trunk for both heads, returns as plain numbers."""
import torch
from torch import nn
from torch.distributions import Normal
torch.manual_seed(0)
class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.mu = nn.Linear(16, 1); self.v = nn.Linear(16, 1)
        self.log_std = nn.Parameter(torch.zeros(1))
    def forward(self, s):
        h = self.trunk(s)
        return Normal(self.mu(h), self.log_std.exp()), self.v(h)
net = AC(); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for ep in range(15):
    s = torch.randn(3); losses = []
    rewards, values, logps = [], [], []
    for t in range(8):
        d, v = net(s)
        a = d.sample()
        s = 0.9 * s + 0.1 * a
        r = -float(s.pow(2).sum())
        rewards.append(r); values.append(v); logps.append(d.log_prob(a))
    R = 0.0
    for r, v, lp in zip(reversed(rewards), reversed(values), reversed(logps)):
        R = r + 0.9 * R
        losses.append(-lp * (R - v.item()) + (v - R).pow(2))
    loss = torch.stack(losses).mean()
    opt.zero_grad(); loss.backward(); opt.step()
