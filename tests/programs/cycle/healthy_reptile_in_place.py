# guards: AD109 AD111
"""Reptile in place: weights saved, inner Adam per task over the same parameters, interpolation back."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
for it in range(4):
    before = {k: v.clone() for k, v in net.state_dict().items()}
    phase = torch.rand(()) * 6
    inner = torch.optim.Adam(net.parameters(), lr=0.02, betas=(0.0, 0.999))
    for _ in range(4):
        x = torch.rand(10, 1) * 6 - 3
        loss = (net(x) - torch.sin(x + phase)).pow(2).mean()
        net.zero_grad()
        loss.backward()
        inner.step()
    after = net.state_dict()
    eps = 0.5 * (1 - it / 4)
    net.load_state_dict({k: before[k] + (after[k] - before[k]) * eps for k in before})
