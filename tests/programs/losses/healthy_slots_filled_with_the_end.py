# guards: AD622
# hinted: AD622
"""A kitchen's order slip of six places: dishes first, then "no more" in each place that is left, all of them shown."""

import torch
from torch import nn

DISHES, NO_MORE, START, PLACES = 12, 12, 13, 6


def orders(n):
    guests = torch.rand(n, 5)
    slip = torch.full((n, PLACES), NO_MORE)
    for row, wish in zip(slip, guests, strict=True):
        count = 1 + int(wish.sum()) % 5
        row[:count] = (wish * DISHES).long().sort().values[:count]
    return guests, torch.cat([torch.full((n, 1), START), slip], 1)


class Waiter(nn.Module):
    def __init__(self):
        super().__init__()
        self.guests, self.words = nn.Linear(5, 32), nn.Embedding(14, 16)
        self.cell, self.out = nn.GRU(16, 32, batch_first=True), nn.Linear(32, 13)

    def forward(self, guests, said):
        return self.out(self.cell(self.words(said), self.guests(guests).tanh()[None])[0])

    @torch.no_grad()
    def write(self, guests):
        said = torch.full((len(guests), 1), START)
        for _ in range(PLACES):
            said = torch.cat([said, self(guests, said)[:, -1:].argmax(-1)], 1)
        return said[:, 1:]


torch.manual_seed(0)
waiter = Waiter()
optimizer = torch.optim.Adam(waiter.parameters(), lr=5e-3)
for step in range(40):
    guests, slip = orders(32)
    scores = waiter(guests, slip[:, :-1])
    loss = nn.functional.cross_entropy(scores.transpose(1, 2), slip[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
guests, slip = orders(64)
print((waiter.write(guests) == slip[:, 1:]).all(1).float().mean().item())
