"""A small encoder of sequences: where a token stands is to be added to what it is."""

import math

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, width, longest=32):
        super().__init__()
        at = torch.arange(longest)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
        self.register_buffer("table", torch.stack([at.sin(), at.cos()], -1).flatten(1))

    def forward(self, x):
        x + self.table[: x.shape[1]]  # expect: AD514
        return x


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.positions = Positions(16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 20)

    def forward(self, tokens):
        return self.head(self.layer(self.positions(self.embed(tokens))))


torch.manual_seed(0)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(40):
    tokens = torch.randint(20, (16, 8))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flip(1).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
