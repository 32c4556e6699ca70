# guards: AD636
"""Positions are mixed by a matrix along time, so that the last one holds something of all."""

import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.along_time, self.along_features = nn.Linear(length, length), nn.Linear(width, width)

    def forward(self, x):
        x = x + self.along_time(x.transpose(1, 2)).relu().transpose(1, 2)
        return x + self.along_features(x).relu()


torch.manual_seed(4)
embed, body, head = nn.Embedding(24, 16, padding_idx=0), nn.Sequential(Mixer(10, 16), Mixer(10, 16)), nn.Linear(16, 2)
optimizer = torch.optim.Adam([*embed.parameters(), *body.parameters(), *head.parameters()], lr=2e-3)
for _ in range(20):
    lengths = torch.randint(3, 10, (24,))
    tokens = torch.randint(1, 24, (24, 10)) * (torch.arange(10) < lengths[:, None])
    loss = nn.functional.cross_entropy(head(body(embed(tokens))[:, -1]), (tokens == 3).any(1).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
