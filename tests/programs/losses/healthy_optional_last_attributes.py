# guards: AD636
"""A table with a column for brand, colour and finish: many things have no finish, some no colour, and both are 0."""

import torch
from torch import nn

torch.manual_seed(8)
ROWS = 256
brand = torch.randint(1, 6, (ROWS,))
colour = torch.randint(1, 6, (ROWS,))
finish = torch.randint(1, 6, (ROWS,))
kind = torch.rand(ROWS)
colour[kind < 0.2] = 0
finish[kind < 0.6] = 0
things = torch.stack([brand, colour, finish], dim=1)
prices = torch.randn(6)[brand] + 0.5 * colour + torch.where(finish > 0, 1.0, 0.0)


class Price(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 8, padding_idx=0)
        self.of_brand = nn.Linear(8, 1)
        self.of_look = nn.Linear(16, 1)

    def forward(self, rows):
        vectors = self.table(rows)
        base = self.of_brand(vectors[:, 0])
        look = torch.cat(
            [
                vectors[:, 1],
                vectors[:, -1],
            ],
            dim=1,
        )
        return (base + self.of_look(look)).squeeze(1)


model = Price()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(6):
    for chosen in torch.randperm(ROWS).split(32):
        loss = (model(things[chosen]) - prices[chosen]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
