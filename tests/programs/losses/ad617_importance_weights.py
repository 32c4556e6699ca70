"""An importance-weighted bound of several samples of the latent."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal


class Bound(nn.Module):
    def __init__(self, size=12, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 24), nn.ReLU(), nn.Linear(24, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, size))

    def forward(self, x, samples):
        mean, log_scale = self.encoder(x).chunk(2, dim=-1)
        many = torch.cat([x] * samples)
        posterior = Normal(torch.cat([mean] * samples), torch.cat([log_scale.clamp(-3, 2).exp()] * samples))
        z = posterior.rsample()
        log_w = Normal(torch.zeros_like(z), torch.ones_like(z)).log_prob(z).sum(-1) - posterior.log_prob(z).sum(-1)
        log_w = log_w - F.binary_cross_entropy_with_logits(self.decoder(z), many, reduction="none").sum(-1)
        log_w = log_w.reshape(len(x), samples)  # expect: AD617
        return torch.logsumexp(log_w, dim=1) - math.log(samples)


torch.manual_seed(0)
data = (torch.rand(120, 12) < torch.rand(120, 1)).float()
model = Bound()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(30):
    batch = data[torch.randint(0, len(data), (20,))]
    loss = -model(batch, 5).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
