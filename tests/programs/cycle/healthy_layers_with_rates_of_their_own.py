# guards: AD102
"""Layer-wise rates by hand: the norms of weights and gradients are read, both move their layer, and all is cleared."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(2, 8, 5), nn.ReLU(), nn.AdaptiveMaxPool1d(2), nn.Flatten(), nn.Linear(16, 2))
speed = {p: torch.zeros_like(p) for p in net.parameters()}
ratios = []
for _ in range(30):
    side = torch.randint(0, 2, (24,))
    signal = 0.3 * torch.randn(24, 2, 20)
    signal[torch.arange(24), side, 5:12] += 1
    nn.functional.cross_entropy(net(signal), side).backward()
    with torch.no_grad():
        ratios.append([float(p.norm() / (p.grad.norm() + 1e-9)) for p in net.parameters()])
        for (p, v), ratio in zip(speed.items(), ratios[-1]):
            trust = min(ratio, 10.0) if p.dim() > 1 else 1.0
            v.mul_(0.9).add_(p.grad + 1e-4 * p, alpha=0.02 * trust)
            p.sub_(v)
    net.zero_grad()
