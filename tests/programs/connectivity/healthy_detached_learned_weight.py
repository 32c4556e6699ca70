# guards: AD216
"""Example reweighting: a small weight net scores the samples, its output enters the main loss detached and learns from its own loss."""
import torch
from torch import nn
from torch.nn import functional as F


class Learner:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        self.noise_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=5e-3)
        self.opt_noise = torch.optim.Adam(self.noise_net.parameters(), lr=5e-3)

    def step(self, x, y):
        log_var = self.noise_net(x).squeeze(-1).clamp(-4, 4)
        pred = self.model(x).squeeze(-1)
        sq = (pred - y).square()

        # heteroscedastic fit on frozen residuals
        noise_loss = 0.5 * (sq.detach() * torch.exp(-log_var) + log_var).mean()
        self.opt_noise.zero_grad()
        noise_loss.backward()
        self.opt_noise.step()

        w = torch.exp(-log_var).detach()
        w = w / w.mean()
        loss = (w * sq).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), noise_loss.item()


torch.manual_seed(0)
learner = Learner()
beta = torch.randn(4)
for i in range(40):
    x = torch.randn(96, 4)
    y = x @ beta + torch.randn(96) * (0.1 + x[:, 0].abs())
    out = learner.step(x, y)
    if i % 10 == 0:
        print(i, *("%.4f" % v for v in out))
