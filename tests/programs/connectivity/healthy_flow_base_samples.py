# guards: AD218
"""Affine coupling flow: likelihood training, a learned base distribution sampled for pictures, and noise drawn from a fixed one."""
import torch
from torch import nn
from torch.distributions import Normal


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 2))

    def forward(self, x, inverse=False):
        a, b = x.flip(-1).split(1, -1) if self.flip else x.split(1, -1)
        s, t = self.net(a).chunk(2, -1)
        s = torch.tanh(s)
        b = (b - t) * torch.exp(-s) if inverse else b * torch.exp(s) + t
        out = torch.cat([a, b], -1)
        return (out.flip(-1) if self.flip else out), s.squeeze(-1)


class Flow(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(n))
        self.base_loc = nn.Parameter(torch.zeros(2))
        self.base_log_scale = nn.Parameter(torch.zeros(2))

    @property
    def base(self):
        return Normal(self.base_loc, self.base_log_scale.exp())

    def log_prob(self, x):
        logdet = 0.0
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return self.base.log_prob(x).sum(-1) + logdet

    @torch.no_grad()
    def sample(self, n):
        z = self.base.sample((n,))
        for layer in reversed(self.layers):
            z, _ = layer(z, inverse=True)
        return z


torch.manual_seed(0)
flow, dequant = Flow(), Normal(0.0, 0.05)
opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(40):
    u = torch.randn(128)
    x = torch.stack([u, u ** 2 - 1 + 0.2 * torch.randn(128)], 1)
    x = x + dequant.sample(x.shape)
    loss = -flow.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        print(step + 1, loss.item(), flow.sample(500).std(0).tolist())
