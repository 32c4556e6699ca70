"""A VAE on linear data, with the latent of a `torch.distributions.Normal`."""
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, d=24, h=48, z=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.mu = nn.Linear(h, z)
        self.log_sigma = nn.Linear(h, z)
        self.decoder = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def forward(self, x):
        h = self.encoder(x)
        q = Normal(self.mu(h), self.log_sigma(h).exp())
        z = q.sample()  # expect: AD218
        return self.decoder(z), q


torch.manual_seed(0)
basis = torch.randn(4, 24)
offset = 2 * torch.randn(24)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
prior = Normal(torch.zeros(4), torch.ones(4))

for step in range(40):
    x = torch.randn(128, 4) @ basis + offset
    recon, q = vae(x)
    nll = 0.5 * (recon - x).pow(2).sum(-1).mean()
    kl = kl_divergence(q, prior).sum(-1).mean()
    loss = nll + kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step:3d}  elbo {-loss.item():.3f}  kl {kl.item():.3f}")
