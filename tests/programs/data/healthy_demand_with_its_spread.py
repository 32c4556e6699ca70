# guards: AD717
"""Demand of the next half hour with its spread; a copy of the last value is scored by the same law, for comparison, and
a second model tells what a gauge that trembles shows now."""
import torch
from torch import nn


class Demand(nn.Module):
    def __init__(self, noise=0.0):
        super().__init__()
        self.noise = noise
        self.body = nn.Sequential(nn.Linear(12, 32), nn.SiLU())
        self.mean, self.spread = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, past):
        h = self.body(past + self.noise * torch.randn_like(past))
        return self.mean(h).squeeze(1), nn.functional.softplus(self.spread(h)).squeeze(1) + 1e-2


torch.manual_seed(2)
load = torch.cumsum(0.3 * torch.randn(600), 0) * 0.2 + torch.sin(torch.arange(600) / 8)
windows = load.unfold(0, 13, 1)
ahead, gauge = Demand(), Demand(noise=0.5)
gaussian = nn.GaussianNLLLoss()
opt = torch.optim.Adam([*ahead.parameters(), *gauge.parameters()], lr=5e-3)
for step in range(40):
    rows = torch.randint(len(windows), (48,))
    past, following = windows[rows, :-1], windows[rows, -1]
    change, variance = ahead(past)
    mean = past[:, -1] + change
    now, trust = gauge(past)
    loss = gaussian(mean, following, variance) + 0.1 * gaussian(now, past[:, -1], trust)
    naive = gaussian(past[:, -1], following, variance.detach())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step, loss.item(), naive.item())
