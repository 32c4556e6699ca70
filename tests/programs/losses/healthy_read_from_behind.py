# guards: AD621
"""Tracks are summarised from their end, and each point is drawn from what is summarised there; in a second training, each
point is to be told from those that follow it."""

import torch
from torch import nn


class FromBehind(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader, self.out = nn.GRU(2, 24, batch_first=True), nn.Linear(24, 2)

    def forward(self, track):
        return self.out(self.reader(track.flip(1))[0].flip(1))


def fit(model, tracks, cut):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(20):
        rows = tracks[torch.randint(0, len(tracks), (16,))]
        given, wanted = cut(rows)
        loss = nn.functional.mse_loss(model(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
tracks = torch.randn(200, 20, 2).cumsum(1) / 5
fit(FromBehind(), tracks, lambda rows: (rows, rows))
fit(FromBehind(), tracks, lambda rows: (rows[:, 1:], rows[:, :-1]))
