# guards: AD708
"""Two views of one recording, each shifted by itself: a contrast of views, and a decoder that draws one from the other."""
import torch
import torch.nn.functional as F
from torch import nn


def shifted(x):
    places = (torch.arange(x.shape[-1]) + torch.randint(0, x.shape[-1], (len(x), 1))) % x.shape[-1]
    return x.gather(1, places) * (0.8 + 0.4 * torch.rand(len(x), 1))


torch.manual_seed(0)
songs = torch.randn(60, 32).cumsum(1)
encoder, decoder = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16)), nn.Linear(16, 32)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
for _ in range(8):
    for rows in torch.randperm(60).split(20):
        one, other = shifted(songs[rows]), shifted(songs[rows])
        codes, twins = encoder(one), encoder(other)
        likeness = F.normalize(codes, dim=1) @ F.normalize(twins, dim=1).T / 0.2
        loss = F.cross_entropy(likeness, torch.arange(20)) + 0.01 * F.mse_loss(decoder(codes), other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
