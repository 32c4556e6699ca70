# guards: AD125
"""Truncated windows, each with a clipping and a step of its own; the embedding steps once for a whole text."""

import torch
from torch import nn

torch.manual_seed(0)
embed, cell, head = nn.Embedding(12, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 12)
fast = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=5e-3)
slow = torch.optim.SGD(embed.parameters(), lr=0.1)
everything = [*embed.parameters(), *cell.parameters(), *head.parameters()]
for text in range(10):
    letters = (torch.arange(25) * (1 + torch.arange(6)[:, None]) + torch.randint(12, (6, 1))) % 12
    state = None
    slow.zero_grad()
    for start in range(0, 24, 6):
        given, wanted = letters[:, start : start + 6], letters[:, start + 1 : start + 7]
        hidden, state = cell(embed(given), state)
        fast.zero_grad()
        (nn.functional.cross_entropy(head(hidden).flatten(0, 1), wanted.flatten()) / 4).backward()
        nn.utils.clip_grad_norm_(everything, 0.2)
        fast.step()
        state = state.detach()
    slow.step()
