# guards: AD629
"""What a diffusion model may predict: noise, the sample, v; flow matching; all with offset noise."""
import math

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, d=4, w=64):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d + 1, w), nn.SiLU(), nn.Linear(w, w), nn.SiLU(), nn.Linear(w, d))

    def forward(self, x, t):
        return self.f(torch.cat([x, t], -1))


class Objective:
    def __init__(self, kind):
        self.kind = kind

    def __call__(self, net, x0):
        t = torch.rand(len(x0), 1)
        eps = torch.randn_like(x0)
        if self.kind == "offset":
            eps = eps + 0.1 * torch.randn(len(x0), 1)
        if self.kind == "antithetic":
            half = torch.randn(len(x0) // 2, x0.shape[1])
            eps = torch.cat([half, -half])
        if self.kind == "flow":
            return (net(torch.lerp(x0, eps, t), t) - (eps - x0)).pow(2).mean()
        if self.kind == "student":
            with torch.no_grad():
                clean = net(x0, t)
            return (net(x0 + 0.2 * eps, t) - clean).pow(2).mean() + net(x0, t).sub(torch.randn_like(x0).mul(0.1) + x0).pow(2).mean()
        a, s = torch.cos(t * math.pi / 2), torch.sin(t * math.pi / 2)
        out = net(a * x0 + s * eps, t)
        if self.kind == "x0":
            return ((out - x0) ** 2).mean()
        if self.kind == "v":
            return ((out - (a * eps - s * x0)) ** 2).mean()
        return ((out - eps) ** 2).mean()


torch.manual_seed(0)
nets = {kind: Net() for kind in ("eps", "offset", "antithetic", "x0", "v", "flow", "student")}
opts = {kind: torch.optim.Adam(net.parameters(), 1e-3) for kind, net in nets.items()}
basis = torch.randn(2, 4)
for it in range(12):
    for kind, net in nets.items():
        x0 = torch.randn(64, 2).tanh() @ basis + 0.02 * torch.randn(64, 4)
        loss = Objective(kind)(net, x0)
        opts[kind].zero_grad()
        loss.backward()
        opts[kind].step()
        if it % 6 == 0:
            print(it, kind, f"{loss.item():.3f}")
