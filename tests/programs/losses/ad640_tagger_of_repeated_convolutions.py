"""A tagger of sequences with a stack of dilated convolutions, put into a list by multiplication."""

import torch
import torch.nn.functional as F
from torch import nn


class Convolution(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.convolution = nn.Conv1d(width, width, 3, padding=1)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        out = F.gelu(self.convolution(x))
        return x + self.norm(out.transpose(1, 2)).transpose(1, 2)


class Tagger(nn.Module):
    def __init__(self, words=30, tags=5, width=24, depth=4):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList([Convolution(width)] * depth)  # expect: AD640
        self.out = nn.Linear(width, tags)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.out(x.transpose(1, 2))


torch.manual_seed(0)
tagger = Tagger()
optimizer = torch.optim.AdamW(tagger.parameters(), lr=3e-3)
for step in range(25):
    ids = torch.randint(30, (16, 12))
    tags = (ids + ids.roll(1, 1)) % 5
    loss = F.cross_entropy(tagger(ids).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
