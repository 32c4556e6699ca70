# guards: AD609
"""The weight of a divergence follows how far that is from what it is to be, and passes zero when it is too small."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
spectra = torch.rand(480, 12)
encode, decode = nn.Linear(12, 8), nn.Linear(4, 12)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=5e-3)
wanted, weight = 0.8, 1.0
for epoch in range(20):
    for rows in torch.randperm(480).split(40):
        mean, log_var = encode(spectra[rows]).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        divergence = 0.5 * (mean.pow(2) + log_var.exp() - 1 - log_var).sum(1).mean()
        fit = F.binary_cross_entropy_with_logits(decode(z), spectra[rows], reduction="none").sum(1).mean()
        loss = fit + weight * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        weight += 0.05 * (divergence.item() - wanted)
