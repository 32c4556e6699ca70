# guards: AD701
"""Codes of a few words learned with all else that a speller is given: places, which are the same in each step."""

import torch
from torch import nn

torch.manual_seed(0)
letters = torch.randint(0, 26, (600, 7))
order = torch.arange(64)
first = torch.arange(7)
letter, place = nn.Embedding(26, 16), nn.Embedding(64, 16)
reads, tells = nn.GRU(16, 24, batch_first=True), nn.Linear(24, 26)
optimizer = torch.optim.Adam([weight for one in (letter, place, reads, tells) for weight in one.parameters()], lr=3e-3)
for rows in torch.randperm(600).split(30):
    words = letters[rows]
    hidden, _ = reads(letter(words) + place(order[first]))
    loss = nn.functional.cross_entropy(tells(hidden[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
