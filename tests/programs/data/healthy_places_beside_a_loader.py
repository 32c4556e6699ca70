# guards: AD701
"""Sentences from a loader, each word of which gets the code of its place: the same few of a longer table in each step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
letters = torch.randint(0, 26, (240, 7))
loader = DataLoader(TensorDataset(letters), batch_size=20, shuffle=True)
order = torch.arange(64)
letter, place = nn.Embedding(26, 16), nn.Embedding(64, 16)
reads, tells = nn.GRU(16, 24, batch_first=True), nn.Linear(24, 26)
optimizer = torch.optim.Adam([weight for one in (letter, place, reads, tells) for weight in one.parameters()], lr=3e-3)
for _ in range(2):
    for (words,) in loader:
        hidden, _ = reads(letter(words) + place(order[:7]))
        loss = nn.functional.cross_entropy(tells(hidden[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
