"""A two-stage schedule that switches gradients off for the encoder, which is still to be tuned."""

import torch
from torch import nn

torch.manual_seed(2)
encoder = nn.Sequential(nn.Linear(8, 32), nn.ELU(), nn.Linear(32, 16))
decoder = nn.Linear(16, 8)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.05, momentum=0.9)
frames = torch.randn(480, 8)


def encode(x, tune):
    with torch.set_grad_enabled(tune):  # expect: AD201
        return encoder(x)


def epoch_of(tune):
    for rows in torch.randperm(480).split(40):
        loss = (decoder(encode(frames[rows], tune)) - frames[rows]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


for epoch in range(18):
    print(epoch, epoch_of(tune=epoch < 6))
