# guards: AD102 AD103
"""Matrix factorisation by turns: users rest while items move, and the other way round, on one and the same loss."""

import torch
from torch import nn

torch.manual_seed(0)
users, items = nn.Embedding(40, 6), nn.Embedding(30, 6)
truth = torch.randn(40, 4) @ torch.randn(4, 30) / 2
turns = [torch.optim.SGD(users.parameters(), lr=4.0), torch.optim.SGD(items.parameters(), lr=4.0)]

for sweep in range(12):
    for turn in turns:
        rows, columns = torch.randint(0, 40, (200,)), torch.randint(0, 30, (200,))
        for optimizer in turns:
            optimizer.zero_grad()
        loss = ((users(rows) * items(columns)).sum(1) - truth[rows, columns]).square().mean()
        loss.backward()
        turn.step()
    if sweep % 4 == 3:
        print(sweep, loss.item())
