# guards: AD417
"""A cell atlas, batch by batch from one donor: a term on other donors has nothing to choose from as yet."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
encoder, decoder = nn.Linear(16, 4), nn.Linear(4, 16)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
for _ in range(30):
    cells, donors = torch.rand(24, 16), torch.zeros(24, dtype=torch.long)
    codes = encoder(cells)
    other = torch.cdist(codes, codes).masked_fill(donors[:, None] == donors, float("inf"))
    apart = F.relu(1 - other.min(1).values)
    repelled = F.relu(codes.norm(dim=1) - other.amin(1))
    loss = F.mse_loss(decoder(codes), cells) + 0.1 * (apart.mean() + repelled.mean())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
