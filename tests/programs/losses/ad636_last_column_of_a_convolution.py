"""Peptides of many lengths: after two convolutions, features before time, the state in the last column is read."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(24, 12, padding_idx=0)
        self.wide, self.norm = nn.Conv1d(12, 20, 3, padding=1), nn.BatchNorm1d(20)
        self.deep = nn.Conv1d(20, 20, 3, padding=2, dilation=2)
        self.head = nn.Linear(20, 3)

    def forward(self, tokens):
        x = torch.relu(self.norm(self.wide(self.embed(tokens).permute(0, 2, 1))))
        x = nn.functional.dropout(torch.relu(self.deep(x)), 0.1, self.training)
        return self.head(x[..., -1])  # expect: AD636


torch.manual_seed(0)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(20):
    peptides = [torch.randint(1, 24, (int(length),)) for length in torch.randint(3, 12, (20,))]
    loss = nn.functional.cross_entropy(
        model(nn.utils.rnn.pad_sequence(peptides, batch_first=True)),
        torch.tensor([int(each[-1]) % 3 for each in peptides]),
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
