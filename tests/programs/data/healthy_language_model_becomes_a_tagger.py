# guards: AD710
"""Embeddings and one recurrent layer of a character model are handed to a tagger that has more layers of its own."""

import torch
from torch import nn

torch.manual_seed(3)


class Characters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.first = nn.Embedding(30, 8), nn.GRU(8, 16, batch_first=True)
        self.project, self.next = nn.Linear(16, 48), nn.Linear(48, 30)

    def forward(self, text):
        return self.next(torch.tanh(self.project(self.first(self.embed(text))[0])))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.first = nn.Embedding(30, 8), nn.GRU(8, 16, batch_first=True)
        self.later = nn.LSTM(16, 40, num_layers=2, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(80, 4)

    def forward(self, text):
        return self.tags(self.later(self.first(self.embed(text))[0])[0])


characters = Characters()
optimizer = torch.optim.Adam(characters.parameters(), lr=5e-3)
for _ in range(12):
    text = torch.randint(0, 30, (16, 9)).cumsum(1) % 30
    loss = nn.functional.cross_entropy(characters(text[:, :-1]).transpose(1, 2), text[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

tagger = Tagger()
tagger.load_state_dict(characters.state_dict(), strict=False)
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
for _ in range(12):
    text = torch.randint(0, 30, (16, 9))
    loss = nn.functional.cross_entropy(tagger(text).transpose(1, 2), text % 4)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
