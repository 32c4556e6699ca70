"""An autoencoder of stripes with an adversarial term, whose weight follows both losses."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)


def stripes(n):
    phase, width = torch.rand(n, 1, 1, 1) * 6.3, 1 + 2 * torch.rand(n, 1, 1, 1)
    line = torch.linspace(0, 6.3, 16).view(1, 1, 1, 16)
    return torch.sin(width * line + phase).expand(n, 1, 16, 16).contiguous()


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(128, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Unflatten(1, (8, 4, 4)), nn.ConvTranspose2d(8, 1, 4, 4))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Balance:
    def __init__(self, share=0.5):
        self.share = share

    def __call__(self, reconstruction, adversarial):
        weight = reconstruction / (adversarial + 1e-6)  # <- AD229
        return self.share * weight


model = Autoencoder()
critic = nn.Sequential(nn.Conv2d(1, 8, 4, 2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(392, 1))
opt_g = torch.optim.Adam(model.parameters(), lr=2e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
balance = Balance()

for step in range(40):
    real = stripes(16)
    fake = model(real)
    reconstruction = (fake - real).abs().mean()
    adversarial = F.softplus(-critic(fake)).mean()
    loss = reconstruction + balance(reconstruction, adversarial) * adversarial
    opt_g.zero_grad(set_to_none=True)
    loss.backward()
    opt_g.step()

    opt_d.zero_grad(set_to_none=True)
    (F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()).backward()
    opt_d.step()
