# guards: AD208 AD309 AD633
"""WGAN-GP: the gradient penalty differentiates with respect to fresh interpolates that require grad."""
import torch
from torch import nn, autograd

torch.manual_seed(0)

G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))
LAMBDA = 10.0


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    scores = D(mixed)
    grads = autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True, retain_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def real_batch(n=64):
    centre = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return centre + 0.1 * torch.randn(n, 2)


for it in range(20):
    for _ in range(3):
        real = real_batch()
        with torch.no_grad():
            fake = G(torch.randn(64, 3))
        loss_d = D(fake).mean() - D(real).mean() + LAMBDA * gradient_penalty(real, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    loss_g = -D(G(torch.randn(64, 3))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 5 == 0:
        print(f"{it} d {loss_d.item():.3f} g {loss_g.item():.3f}")
