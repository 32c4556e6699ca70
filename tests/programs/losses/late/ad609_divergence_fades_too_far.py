"""The weight of the KL term is to fade over ten epochs, but goes on falling."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
data = torch.rand(480, 12)
encode, decode = nn.Linear(12, 8), nn.Linear(4, 12)
optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=2e-3)
for epoch in range(20):
    beta = 1.0 - epoch / 5
    for rows in torch.randperm(480).split(40):
        mean, log_var = encode(data[rows]).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()
        loss = F.binary_cross_entropy_with_logits(decode(z), data[rows], reduction="none").sum(1).mean() + beta * kl  # expect: AD609
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
