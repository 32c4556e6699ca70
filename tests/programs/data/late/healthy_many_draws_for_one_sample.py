# guards: AD704
"""A variational autoencoder: first with one draw for each of many samples, then with many draws for one at a time."""

import math

import torch
from torch import nn

torch.manual_seed(0)
samples = torch.randn(200, 3).cumsum(1)
encoder, decoder = nn.Linear(3, 4), nn.Linear(2, 3)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)


def weights(x):
    mean, spread = encoder(x).chunk(2, 1)
    noise = torch.randn_like(mean)
    code = mean + spread.exp() * noise
    likelihood = -0.5 * (x - decoder(code)).square().sum(1)
    return likelihood - 0.5 * code.square().sum(1) + (0.5 * noise.square() + spread).sum(1)


def train(loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for rows in torch.randint(0, 200, (40, 32)):
    train(-weights(samples[rows]).mean())
for row in range(200):
    train(math.log(16) - weights(samples[row].expand(16, -1)).logsumexp(0))
