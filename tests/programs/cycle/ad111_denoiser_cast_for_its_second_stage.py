"""A denoiser learns in float32, and is cast before it goes on at a small rate: scales near 1 never move again, and of
kernels most values stay as well."""

import torch
from torch import nn


def denoiser():
    return nn.Sequential(
        nn.Conv1d(1, 12, 5, padding=2), nn.GroupNorm(3, 12), nn.Mish(), nn.Conv1d(12, 12, 3, padding=1),
        nn.GroupNorm(3, 12), nn.Mish(), nn.Conv1d(12, 1, 5, padding=2),
    )  # fmt: skip


def waves(count, dtype=torch.float32):
    phase = 6 * torch.rand(count, 1, 1)
    clean = (torch.linspace(0, 9, 40) + phase).sin()
    return (clean + 0.3 * torch.randn_like(clean)).to(dtype), clean


torch.manual_seed(2)
net = denoiser()
early = torch.optim.RAdam(net.parameters(), lr=3e-3)
for _ in range(20):
    noisy, clean = waves(16)
    early.zero_grad()
    (net(noisy) - clean).square().mean().backward()
    early.step()

net = net.to(torch.bfloat16)
late = torch.optim.Adam(net.parameters(), lr=5e-5)  # expect: AD111
for _ in range(24):
    noisy, clean = waves(16, torch.bfloat16)
    late.zero_grad()
    (net(noisy).float() - clean).square().mean().backward()
    late.step()
