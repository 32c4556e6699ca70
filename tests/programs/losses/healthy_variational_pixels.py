# guards: AD614 AD611
"""A variational autoencoder of pixels between 0 and 1, and a regression whose outputs are scaled behind a sigmoid."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.log_var = nn.Linear(36, 24), nn.Linear(24, 3), nn.Linear(24, 3)
        self.dec = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 36), nn.Sigmoid())

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        return self.dec(z), mu, log_var


torch.manual_seed(0)
vae, age = VAE(), nn.Linear(36, 1)
optimizer = torch.optim.Adam([*vae.parameters(), *age.parameters()], lr=1e-3)
for step in range(20):
    x = torch.rand(48, 36).round() * 0.98 + 0.01
    years = 20 + 60 * x[:, :5].mean(1)
    rebuilt, mu, log_var = vae(x)
    rebuild = F.binary_cross_entropy(rebuilt, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()
    guess = 100 * torch.sigmoid(age(x)).squeeze(1)
    loss = rebuild + kl + F.smooth_l1_loss(guess, years) + F.mse_loss(F.relu(age(x)).squeeze(1), years / 100)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
