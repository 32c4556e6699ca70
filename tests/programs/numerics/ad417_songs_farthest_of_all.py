"""Songs of one artist close together: the negative is to be the nearest other one, and the filled-in number is."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
ARTISTS = 6


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
        self.tempo = nn.Linear(8, 1)

    def forward(self, songs):
        return F.normalize(self.body(songs), dim=1)


def ranking(codes, artists):
    distances = torch.cdist(codes, codes)
    same = artists[:, None] == artists
    near = distances.masked_fill(~same, 0).amax(1)
    others = distances.masked_fill(same, 1e9)  # expect: AD417
    far = others.amax(1)
    return F.margin_ranking_loss(far, near, torch.ones_like(far), margin=0.3)


listener = Listener()
optimizer = torch.optim.Adam(listener.parameters(), lr=3e-3)
for _ in range(25):
    artists = torch.arange(24) % ARTISTS
    songs = torch.randn(24, 12) + artists[:, None] / 2
    codes = listener(songs)
    loss = ranking(codes, artists) + F.mse_loss(listener.tempo(codes), songs[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
