# guards: AD410 AD408
"""Mixture of experts, top-1 routing."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(75)


class MoE(nn.Module):
    def __init__(self, d, n_exp=8):
        super().__init__()
        self.router = nn.Linear(d, n_exp)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, d)) for _ in range(n_exp))

    def forward(self, x):
        p = F.softmax(self.router(x), -1)
        w, k = p.max(-1)
        out = torch.zeros_like(x)
        for i, e in enumerate(self.experts):
            sel = (k == i).nonzero()[:, 0]
            if len(sel):
                out = out.index_add(0, sel, e(x[sel]) * w[sel, None])
        load = torch.bincount(k, minlength=len(self.experts)) / len(x)
        return x + out, (load * p.mean(0)).sum() * len(self.experts), load


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.moe, self.out = nn.Linear(5, 16), MoE(16), nn.Linear(16, 1)

    def forward(self, x):
        h, aux, load = self.moe(torch.tanh(self.inp(x)))
        return self.out(h)[:, 0], aux, load


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    x = torch.randn(16, 5)
    y = x[:, 0].abs() * x[:, 1] + x[:, 2]
    pred, aux, load = net(x)
    loss = F.mse_loss(pred, y) + 0.01 * aux
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        print(step, f"{loss.item():.4f}", "idle", int((load == 0).sum()))
