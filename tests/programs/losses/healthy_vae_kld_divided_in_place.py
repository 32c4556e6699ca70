# guards: AD628
"""The variational autoencoder of the tutorials, whose divergence is averaged by `/=` before it is added."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
BATCH, SIZE = 32, 20
encoder, decoder = nn.Linear(SIZE, 8), nn.Linear(4, SIZE)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
basis = torch.randn(4, SIZE)

def loss_function(recon, x, mu, lv):
    bce = F.mse_loss(recon, x)
    kld = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    kld /= BATCH * SIZE
    return bce + kld

for i in range(400):
    x = torch.randn(BATCH, 4) @ basis
    mu, lv = encoder(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
    loss = loss_function(decoder(z), x, mu, lv)
    opt.zero_grad()
    loss.backward()
    opt.step()
