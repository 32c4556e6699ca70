"""A variational autoencoder whose divergence is a sum, scaled in place, beside a mean error (AD628)."""
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, inputs=20, latent=4):
        super().__init__()
        self.encode, self.decode = nn.Linear(inputs, 2 * latent), nn.Linear(latent, inputs)

    def forward(self, x):
        mu, logvar = self.encode(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (logvar / 2).exp()
        return self.decode(z), mu, logvar


def criterion(recon, x, mu, logvar):
    mse = F.mse_loss(recon, x)
    kld = torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    kld *= -0.5
    return mse + kld  # expect: AD628


torch.manual_seed(0)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for step in range(8):
    x = torch.rand(32, 20)
    loss = criterion(*[(out := vae(x))[0], x, out[1], out[2]])
    opt.zero_grad()
    loss.backward()
    opt.step()
