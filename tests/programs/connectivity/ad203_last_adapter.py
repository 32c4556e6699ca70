"""Adapters between frozen blocks: an off-by-one leaves the last adapter without work."""

import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.down, self.up = nn.Linear(width, rank), nn.Linear(rank, width)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(self.down(x).relu())


class Adapted(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks).requires_grad_(False)
        self.adapters = nn.ModuleList(Adapter(16, 4) for _ in blocks)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        for i in range(len(self.blocks) - 1):
            x = self.adapters[i](self.blocks[i](x))
        return self.head(x)


torch.manual_seed(0)
model = Adapted([nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(4)])
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-2)  # expect: AD203
for step in range(8):
    x = torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
