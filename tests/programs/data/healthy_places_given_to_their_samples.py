# guards: AD708
"""A map of songs: each is given a free place on a grid, and trades it for one that is nearer to where it is put."""

import torch
from torch import nn

torch.manual_seed(1)
songs = torch.randn(200, 12) * torch.linspace(2, 0.2, 12)
side = torch.linspace(-1, 1, 20)
places = torch.cartesian_prod(side, side[::2])[torch.randperm(200)]
put = nn.Sequential(nn.Linear(12, 40), nn.GELU(), nn.Linear(40, 2))
optimizer = torch.optim.AdamW(put.parameters(), lr=4e-3)


def trade(wishes, offered):
    """By turns, from whoever is worst off, the nearest of the places that are left."""
    away = torch.cdist(wishes, offered)
    chosen = torch.empty(len(wishes), dtype=torch.long)
    for song in away.min(dim=1).values.argsort(descending=True):
        chosen[song] = away[song].argmin()
        away[:, chosen[song]] = torch.inf
    return chosen


for epoch in range(4):
    for batch in torch.randperm(200).split(50):
        wishes = put(songs[batch])
        places[batch] = places[batch][trade(wishes.detach(), places[batch])]
        loss = nn.functional.mse_loss(wishes, places[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
