# guards: AD216 AD221
"""Hinge GAN on a ring of points: D sees G(z).detach(), and G's L1 moment term has a gradient."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
device = torch.device("cpu")


def ring(n):
    t = torch.rand(n) * 2 * torch.pi
    return torch.stack([2 * t.cos(), 2 * t.sin()], 1) + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)).to(device)
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)).to(device)
g_opt = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.99))
d_opt = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.99))

for step in range(30):
    real = ring(64)
    z = torch.randn(64, 8, device=device)
    fake = G(z)

    d_loss = F.relu(1 - D(real)).mean() + F.relu(1 + D(fake.detach())).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    moment = (fake.mean(0) - real.mean(0)).abs().sum()
    g_loss = -D(fake).mean() + 0.5 * moment
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()

    if step % 10 == 0:
        total = d_loss.detach() + g_loss.detach()
        print(step, f"D={d_loss.item():.3f} G={g_loss.item():.3f} sum={total.item():.3f}")
