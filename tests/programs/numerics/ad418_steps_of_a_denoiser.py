"""Denoising of short waves, the network in bfloat16 but for its optimizer's masters."""
import math

import torch
from torch import nn

STEPS = 1000
keep = torch.cos(torch.linspace(0, 1, STEPS) * math.pi / 2).clamp(0.02, 0.999)


def embedding_of(t, width=32):
    rates = torch.exp(-math.log(10_000) * torch.arange(width // 2, device=t.device) / (width // 2)).to(t.dtype)
    phase = t[:, None] * rates[None]
    return torch.cat([torch.sin(phase), torch.cos(phase)], dim=1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Linear(32, 64)
        self.inner = nn.Sequential(nn.Linear(24 + 64, 96), nn.SiLU(), nn.Linear(96, 24))

    def forward(self, x, t):
        when = self.time(embedding_of(t))
        return self.inner(torch.cat([x, when], dim=1))


torch.manual_seed(0)
net = Denoiser()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(30):
    shift = torch.rand(64, 1) * 6
    clean = torch.sin(torch.linspace(0, 6, 24) + shift)
    t = torch.randint(0, STEPS, (64,))
    noise = torch.randn_like(clean)
    noisy = keep[t, None] * clean + (1 - keep[t, None] ** 2).sqrt() * noise
    with torch.autocast("cpu", dtype=torch.bfloat16):
        said = net(noisy, t.to(torch.bfloat16))  # <- AD418
    loss = nn.functional.mse_loss(said.float(), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
