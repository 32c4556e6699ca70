# guards: AD216 AD628
"""VAE with free bits and an annealed KL weight: the clamp stops the KL gradient below the floor, beta starts at zero."""
import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d=20, z=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ELU(), nn.Linear(32, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ELU(), nn.Linear(32, d))

    def forward(self, x, beta, free_bits=0.25):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        rec = F.mse_loss(self.dec(z), x, reduction="none").sum(-1).mean()
        kl = 0.5 * (mu ** 2 + logvar.exp() - 1 - logvar).mean(0)
        return rec + beta * kl.clamp(min=free_bits).sum(), rec.item(), kl.sum().item()


torch.manual_seed(0)
A = torch.randn(3, 20)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
for step in range(40):
    x = torch.randn(64, 3) @ A + 0.1 * torch.randn(64, 20)
    loss, rec, kl = vae(x, beta=min(1.0, step / 20))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        print(step + 1, f"loss {loss.item():.2f} rec {rec:.2f} kl {kl:.2f}")
