# guards: AD109
"""A stack of autoencoders is trained layer by layer; the one decoder is drawn anew for each, and has its own optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 12)
encoders = [nn.Linear(12, 12) for _ in range(8)]
decoder = nn.Linear(12, 12)
seen = x
for encoder in encoders:
    nn.init.orthogonal_(decoder.weight)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
    for rows in torch.randperm(300).split(20):
        loss = nn.functional.mse_loss(decoder(encoder(seen[rows]).tanh()), seen[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seen = encoder(seen).tanh().detach()
