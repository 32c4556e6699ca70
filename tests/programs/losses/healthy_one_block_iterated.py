# guards: AD640
"""A block is iterated until its state is settled, a cell reads a sequence, and both embeddings are one table."""

import torch
import torch.nn.functional as F
from torch import nn


class Universal(nn.Module):
    def __init__(self, words=20, width=16):
        super().__init__()
        self.tables = nn.ModuleDict({"source": nn.Embedding(words, width)})
        self.tables["target"] = self.tables["source"]
        self.block = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.Tanh())
        self.cell = nn.GRUCell(width, width)
        self.cells = [self.cell] * 2
        self.out = nn.Linear(width, words)

    def forward(self, source, target):
        h = self.tables["source"](source).mean(1)
        for _ in range(4):
            h = h + 0.5 * self.block(h)
        for place in range(target.shape[1]):
            h = self.cells[place % 2](self.tables["target"](target[:, place]), h)
        return self.out(h)


torch.manual_seed(0)
model = Universal()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(25):
    source, target = torch.randint(20, (32, 6)), torch.randint(20, (32, 4))
    loss = F.cross_entropy(model(source, target), target[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
