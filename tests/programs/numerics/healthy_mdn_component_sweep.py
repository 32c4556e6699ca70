# guards: AD410
"""The number of mixture components is chosen by validation, from one component on."""

import math
import torch
from torch import nn
import torch.nn.functional as F


class MDN(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 40), nn.Tanh())
        self.pi, self.mu, self.s = nn.Linear(40, k), nn.Linear(40, k), nn.Linear(40, k)

    def forward(self, x):
        h = self.body(x)
        return F.log_softmax(self.pi(h), -1), self.mu(h), self.s(h).clamp(-4, 4)


def nll(out, y):
    logpi, mu, s = out
    logn = -0.5 * ((y - mu) / s.exp()) ** 2 - s - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(logpi + logn, -1).mean()


torch.manual_seed(0)
t = torch.rand(1200, 1) * 2 - 1
x = t + 0.4 * torch.sin(6 * t) + 0.03 * torch.randn_like(t)
xt, yt, xv, yv = x[:1000], t[:1000], x[1000:], t[1000:]
best = None
for k in (1, 2, 4):
    torch.manual_seed(10 + k)
    net = MDN(k)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(1):
        for idx in torch.randperm(1000).split(100):
            loss = nll(net(xt[idx]), yt[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        val = nll(net(xv), yv).item()
    print(k, val)
    best = min(best or (val, k), (val, k))
print("best", best)
