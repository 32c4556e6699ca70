# guards: AD636
"""Sounds of different lengths through convolutions: the state at each one's own end is read, features before time."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(24, 12, padding_idx=0)
        self.wide = nn.Conv1d(12, 20, 3, padding=1)
        self.deep = nn.Conv1d(20, 20, 3, padding=1)
        self.head = nn.Linear(20, 3)

    def forward(self, tokens, lengths):
        states = self.wide(self.embed(tokens).mT).relu()
        states = states + self.deep(states).relu()
        ends = (lengths - 1)[:, None, None].expand(-1, states.shape[1], 1)
        return self.head(states.gather(2, ends).squeeze(2))


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(20):
    lengths = torch.randint(3, 11, (16,))
    tokens = torch.randint(1, 24, (16, 11)) * (torch.arange(11) < lengths[:, None])
    loss = nn.functional.cross_entropy(model(tokens, lengths), tokens[:, 0] % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
