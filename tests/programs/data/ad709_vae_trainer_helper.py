"""A small VAE on synthetic images, with a trainer that prepares every iteration."""

import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_deterministic(value):
    random.seed(value)
    np.random.seed(value)
    torch.manual_seed(value)


class VAE(nn.Module):
    def __init__(self, width=32, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(36, width), nn.ReLU())
        self.mean = nn.Linear(width, latent)
        self.logvar = nn.Linear(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, 36))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, logvar = self.mean(hidden), self.logvar(hidden)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return self.decoder(z), mean, logvar


class Trainer:
    def __init__(self, model, loader, seed=1234):
        self.model, self.loader, self.seed = model, loader, seed
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def prepare(self):
        make_deterministic(self.seed)  # expect: AD709
        self.optimizer.zero_grad()

    def iteration(self, x):
        self.prepare()
        reconstruction, mean, logvar = self.model(x)
        kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
        loss = F.mse_loss(reconstruction, x, reduction="sum") / len(x) + 0.1 * kl
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for _ in range(epochs):
            for (x,) in self.loader:
                self.iteration(x)


if __name__ == "__main__":
    make_deterministic(0)
    images = torch.rand(192, 36)
    Trainer(VAE(), DataLoader(TensorDataset(images), batch_size=16, shuffle=True)).fit(3)
