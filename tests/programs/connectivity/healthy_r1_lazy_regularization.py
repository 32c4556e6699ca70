# guards: AD220 AD216
"""Non-saturating GAN with R1 applied lazily, on every fourth discriminator step, real images requiring grad."""
import torch
from torch import nn
import torch.nn.functional as F


def r1_penalty(logits, real):
    (g,) = torch.autograd.grad(logits.sum(), real, create_graph=True)
    return g.flatten(1).pow(2).sum(1).mean()


def train(steps=28, r1_gamma=1.0, d_reg_every=4):
    G = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 2))
    D = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
    og = torch.optim.Adam(G.parameters(), 2e-3, betas=(0.0, 0.99))
    od = torch.optim.Adam(D.parameters(), 2e-3, betas=(0.0, 0.99))
    for i in range(steps):
        real = torch.randn(64, 2) * 0.4 + torch.tensor([1.5, -0.5])
        reg_step = i % d_reg_every == 0
        real.requires_grad_(reg_step)
        with torch.no_grad():
            fake = G(torch.randn(64, 4))
        real_logits = D(real)
        d_loss = F.softplus(-real_logits).mean() + F.softplus(D(fake)).mean()
        r1 = torch.zeros(())
        if reg_step:
            r1 = r1_penalty(real_logits, real)
            d_loss = d_loss + r1_gamma / 2 * r1 * d_reg_every
        od.zero_grad(set_to_none=True)
        d_loss.backward()
        od.step()

        g_loss = F.softplus(-D(G(torch.randn(64, 4)))).mean()
        og.zero_grad(set_to_none=True)
        g_loss.backward()
        og.step()
        if i % 9 == 0:
            print({"i": i, "d": round(d_loss.item(), 3), "g": round(g_loss.item(), 3), "r1": round(r1.item(), 4)})


torch.manual_seed(0)
train()
