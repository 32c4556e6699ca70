import math

import torch
from torch import nn


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
        args = t[:, None].float() * freqs[None]
        return self.mlp(torch.cat([args.sin(), args.cos()], dim=-1))


class Denoiser(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.time = TimeEmbedding(ch)
        self.inp = nn.Conv2d(3, ch, 3, padding=1)
        self.down = nn.Conv2d(ch, ch, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(ch, ch, 4, 2, 1)
        self.out = nn.Conv2d(2 * ch, 3, 3, padding=1)

    def forward(self, x, t):
        emb = self.time(t)[:, :, None, None]
        h1 = torch.relu(self.inp(x) + emb)
        h2 = torch.relu(self.down(h1) + emb)
        return self.out(torch.cat([self.up(h2), h1], 1))
