# guards: AD625
"""A list of stops is followed by empty ones to be filled: these look at the stops, and then at one another."""

import torch
from torch import nn

EMPTY = 9


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(10, 24), nn.Parameter(0.1 * torch.randn(8, 24))
        self.look = nn.MultiheadAttention(24, 2, batch_first=True)
        self.agree = nn.MultiheadAttention(24, 2, batch_first=True)
        self.head = nn.Linear(24, 9)

    def forward(self, stops):
        is_empty = stops == EMPTY
        x = self.embed(stops) + self.place
        x = x + self.look(x, x, x, key_padding_mask=is_empty)[0]
        x = x + self.agree(x, x, x, key_padding_mask=~is_empty)[0]
        return self.head(x)


torch.manual_seed(0)
planner = Planner()
optimizer = torch.optim.Adam(planner.parameters(), lr=3e-3)
for step in range(40):
    known = torch.randint(2, 7, (32, 1))
    stops = torch.randint(0, 9, (32, 8)).sort(1).values
    shown = stops.where(torch.arange(8) < known, torch.tensor(EMPTY))
    wanted = stops.where(shown == EMPTY, torch.tensor(-100))
    loss = nn.functional.cross_entropy(planner(shown).flatten(0, 1), wanted.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
