"""A variational autoencoder whose images stand where the reconstruction belongs."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.rand(320, 1, 8, 8)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(64, 32)
        self.mu, self.lv = nn.Linear(32, 4), nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x):
        h = torch.relu(self.enc(x.flatten(1)))
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z).view_as(x), mu, lv


def loss_fn(recon, x, mu, lv):
    bce = nn.functional.binary_cross_entropy(x, recon, reduction="sum")  # expect: AD612
    kld = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    return bce + kld


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(4):
    for (x,) in DataLoader(TensorDataset(images), batch_size=32, shuffle=True):
        recon, mu, lv = vae(x)
        loss = loss_fn(recon, x, mu, lv)
        opt.zero_grad()
        loss.backward()
        opt.step()
