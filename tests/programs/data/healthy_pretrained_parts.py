# guards: AD710
"""Warm starts that fit in part: a trunk without its head, a decoder that is left behind, growth by one block."""

import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 6))
        self.decoder = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 12))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 6))
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


torch.manual_seed(0)
x = torch.randn(96, 12)
auto = AutoEncoder()
opt = torch.optim.Adam(auto.parameters(), lr=1e-3)
for _ in range(12):
    loss = nn.functional.mse_loss(auto(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()

probe = Probe()
missing, unexpected = probe.load_state_dict(auto.state_dict(), strict=False)
assert all(key.startswith("head.") for key in missing)
opt = torch.optim.Adam(probe.parameters(), lr=1e-3)
for _ in range(12):
    loss = nn.functional.cross_entropy(probe(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
