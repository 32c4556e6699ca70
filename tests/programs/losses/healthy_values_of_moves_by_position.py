# guards: AD621
"""The value of each move, picked from a table that a network makes of the board positions before it."""

import torch
from torch import nn

torch.manual_seed(0)
embed, body, values = nn.Embedding(9, 24), nn.GRU(24, 24, batch_first=True), nn.Linear(24, 9)
model = nn.ModuleList([embed, body, values])
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(20):
    squares = torch.randint(0, 9, (24, 10))
    moves = torch.randint(0, 9, (24, 10))
    gained = ((squares + moves) % 3 == 0).float()
    taken = values(body(embed(squares))[0]).gather(-1, moves[..., None]).squeeze(-1)
    loss = nn.functional.mse_loss(taken, gained)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
