"""A diffusion model whose time embedding goes through Python numbers."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

T = 12
betas = torch.linspace(1e-3, 0.5, T)
alphas_bar = torch.cumprod(1 - betas, dim=0)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Linear(1, dim)

    def forward(self, t):
        phase = self.scale(t.float().unsqueeze(1) / T)
        rows = [[math.sin(v.item()) for v in row] for row in phase]  # expect: AD202
        return torch.tensor(rows)


class Denoiser(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.time = TimeEmbedding(dim)
        self.inp = nn.Linear(2, dim)
        self.mid = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


def q_sample(x0, t, noise):
    a = alphas_bar[t].unsqueeze(1)
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        eps = model(x, torch.full((n,), t))
        x = (x - betas[t] / (1 - alphas_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t > 0:
            x = x + betas[t].sqrt() * torch.randn_like(x)
    return x


def main():
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(25):
        angle = 2 * math.pi * torch.rand(12)
        x0 = torch.stack([angle.cos(), angle.sin()], 1)
        t = torch.randint(0, T, (12,))
        noise = torch.randn_like(x0)
        loss = F.mse_loss(model(q_sample(x0, t, noise), t), noise)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 8 == 0:
            print(step, loss.item())
    print(sample(model, 8).norm(dim=1).mean().item())


main()
