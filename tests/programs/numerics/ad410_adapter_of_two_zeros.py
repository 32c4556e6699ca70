"""Low-rank adapters of which both factors begin at zero, so that neither ever moves (AD410)."""

import torch
import torch.nn.functional as F
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T @ self.B.T)  # expect: AD410


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5))
net[0] = LoRALinear(net[0])
net[2] = LoRALinear(net[2])
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-3)
for step in range(20):
    x = torch.randn(32, 12)
    y = x[:, :5].argmax(-1)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
