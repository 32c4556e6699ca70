# guards: AD702
"""Birdsong arrives species by species, and each step also rehearses a reservoir of what was heard before."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
species = torch.arange(6).repeat_interleave(48)
songs = torch.randn(6, 12)[species] + 0.7 * torch.randn(288, 12)
season = DataLoader(TensorDataset(songs, species), batch_size=16)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
kept_songs, kept_species, heard = torch.randn(60, 12), torch.randint(0, 6, (60,)), 0
for _ in range(2):
    for song, kind in season:
        rows = torch.randint(0, 60, (16,))
        rehearsal = criterion(model(kept_songs[rows]), kept_species[rows])
        loss = 0.5 * criterion(model(song), kind) + 0.5 * rehearsal
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for one, label in zip(song, kind):
            heard += 1
            place = torch.randint(0, heard, ()).item()
            if place < 60:
                kept_songs[place], kept_species[place] = one, label
