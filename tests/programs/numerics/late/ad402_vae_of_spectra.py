"""VAE on spectra recorded in sequence."""

import torch
from torch import nn

torch.manual_seed(10)
basis = torch.randn(3, 30)


def sample(shot, n=32):
    x = torch.randn(n, 3) @ basis * 0.5 + 0.1 * torch.randn(n, 30)
    if shot == 70:
        x[17] *= 4000.0
    return x


class VAE(nn.Module):
    def __init__(self, zdim=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(30, 64), nn.ReLU())
        self.mu = nn.Linear(64, zdim)
        self.lv = nn.Linear(64, zdim)
        self.dec = nn.Sequential(nn.Linear(zdim, 64), nn.ReLU(), nn.Linear(64, 30))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.lv(h)
        var = torch.exp(logvar)
        z = mu + var.sqrt() * torch.randn_like(mu)  # expect: AD402
        kl = 0.5 * (mu**2 + var - 1 - logvar).sum(1)
        return self.dec(z), kl


def main():
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for shot in range(90):
        x = sample(shot)
        rec, kl = model(x)
        per_sample = ((rec - x) ** 2).sum(1) + kl
        loss = per_sample.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if shot % 20 == 0:
            print(f"{shot:4d} elbo {-loss.item():.4f} median {-per_sample.median().item():.4f}")


if __name__ == "__main__":
    main()
