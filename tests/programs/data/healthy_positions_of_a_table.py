# guards: AD701
"""A tagger of short sentences that is given its positions by a table made for the longest."""

import torch
from torch import nn

torch.manual_seed(8)
LENGTH = 10
positions = torch.sin(torch.arange(64.0).unsqueeze(1) / torch.tensor([1.0, 10.0, 100.0, 1000.0]))
text = torch.randint(0, 20, (400, LENGTH))
tags = (text.roll(1, 1) > text).long()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.places = nn.Linear(4, 16)
        self.reads = nn.GRU(16, 16, batch_first=True)
        self.tags = nn.Linear(16, 2)

    def forward(self, words, places):
        return self.tags(self.reads(self.words(words) + self.places(places))[0])


tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for _ in range(2):
    for rows in torch.randperm(400).split(25):
        scores = tagger(text[rows], positions[:LENGTH])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
