# guards: AD514
"""Every way to write to some rows that does write to them."""

import torch
from torch import nn

torch.manual_seed(0)
table = nn.Embedding(20, 6)
rows = [3, 5, 7]
with torch.no_grad():
    table.weight[rows] = 0.1
    table.weight[rows] *= 2
    table.weight[rows, 0] = 0.0
    table.weight[3:6][0] = 0.3
    table.weight[3][:2].zero_()
    table.weight.index_fill_(0, torch.tensor(rows), 0.2)
    table.weight.data[2].normal_()
    table.weight.view(-1)[::7].uniform_(-1, 1)
    table.weight.reshape(-1)[0] = 1.0
    table.weight.to(torch.float32)[1] = 0.5
    table.weight.contiguous()[0, 0] = 0.5
    table.weight[torch.zeros(20, dtype=torch.bool)].zero_()
head = nn.Linear(6, 3)
optimizer = torch.optim.Adam([*table.parameters(), *head.parameters()], lr=0.02)
for _ in range(30):
    tokens = torch.randint(20, (32,))
    loss = nn.functional.cross_entropy(head(table(tokens)), tokens % 3)
    optimizer.zero_grad()
    loss.backward()
    table.weight.grad[rows] = 0.0
    table.weight.grad[:2].mul_(0.5)
    optimizer.step()
