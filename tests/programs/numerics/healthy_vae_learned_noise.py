# guards: AD405 AD620
"""VAE."""

import math
import torch
import torch.nn as nn

torch.manual_seed(74)
basis = torch.randn(2, 16)


def sample(n=64):
    return torch.tanh(torch.randn(n, 2) @ basis * 0.5) + 0.01 * torch.randn(n, 16)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 8))
        self.dec = nn.Sequential(nn.Linear(4, 64), nn.SiLU(), nn.Linear(64, 16))
        self.log_noise = nn.Parameter(torch.zeros(()))

    def neg_elbo(self, x):
        mu, lv = self.enc(x).chunk(2, 1)
        lv = lv.clamp(-12, 4)
        z = mu + (0.5 * lv).exp() * torch.randn_like(mu)
        rec = self.dec(z)
        s = self.log_noise.clamp(-6, 3)
        nll = 0.5 * ((x - rec) / s.exp()) ** 2 + s + 0.5 * math.log(2 * math.pi)
        kl = 0.5 * (mu**2 + lv.exp() - lv - 1)
        return (nll.sum(1) + kl.sum(1)).mean()


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
for step in range(300):
    loss = vae.neg_elbo(sample())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(vae.parameters(), 10.0)
    opt.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.3f} noise {vae.log_noise.exp().item():.3f}")
