# guards: AD101
"""WGAN with weight clipping in a trainer class; the critic's leftovers are cleared before they could be used."""

import torch
from torch import nn


class WGANTrainer:
    def __init__(self, latent=4, n_critic=2, clip=0.05, lr=5e-4):
        self.latent = latent
        self.n_critic = n_critic
        self.clip = clip
        self.G = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 2))
        self.D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.opt_G = torch.optim.RMSprop(self.G.parameters(), lr=lr)
        self.opt_D = torch.optim.RMSprop(self.D.parameters(), lr=lr)

    def sample_real(self, n):
        angle = 6.2832 * torch.rand(n)
        return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)

    def train_critic(self, real):
        z = torch.randn(real.size(0), self.latent)
        fake = self.G(z).detach()
        self.opt_D.zero_grad()
        loss = self.D(fake).mean() - self.D(real).mean()
        loss.backward()
        self.opt_D.step()
        for p in self.D.parameters():
            p.data.clamp_(-self.clip, self.clip)
        return loss.item()

    def train_generator(self, n):
        self.opt_G.zero_grad()
        loss = -self.D(self.G(torch.randn(n, self.latent))).mean()
        loss.backward()
        self.opt_G.step()
        return loss.item()

    def train(self, iterations, batch_size=64):
        for it in range(iterations):
            for _ in range(self.n_critic):
                d_loss = self.train_critic(self.sample_real(batch_size))
            g_loss = self.train_generator(batch_size)
            if it % 10 == 0:
                print(f"[{it}] D {d_loss:.4f} G {g_loss:.4f}")


if __name__ == "__main__":
    torch.manual_seed(42)
    WGANTrainer().train(40)
