"""A transformer with a memory of the segment before, over tunes of one segment each, in an order drawn per epoch."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query, self.key, self.value, self.wide = (nn.Linear(size, size) for _ in range(4))

    def forward(self, notes, memory):
        whole = notes if memory is None else torch.cat([memory, notes], dim=1)  # expect: AD726
        seen = F.scaled_dot_product_attention(self.query(notes), self.key(whole), self.value(whole))
        return notes + torch.relu(self.wide(notes + seen))


class Tunes(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.notes, self.out = nn.Embedding(12, size), nn.Linear(size, 12)
        self.blocks = nn.ModuleList([Block(size), Block(size)])
        self.memories = [None, None]

    def forward(self, tune):
        x = self.notes(tune)
        for at, block in enumerate(self.blocks):
            memory, self.memories[at] = self.memories[at], x.detach()
            x = block(x, memory)
        return self.out(x)


torch.manual_seed(0)
tunes = torch.randint(12, (80, 13))
model = Tunes()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _epoch in range(3):
    order = torch.randperm(80)
    for begin in range(0, 80, 8):
        tune = tunes[order[begin : begin + 8]]
        loss = F.cross_entropy(model(tune[:, :-1]).flatten(0, 1), tune[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
