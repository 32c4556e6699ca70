import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16)
        self.score = nn.Linear(16, 1)
        self.out = nn.Linear(16, 3)

    def forward(self, tokens):
        h = self.embed(tokens)
        weights = torch.softmax(self.score(h), dim=-1)  # expect: AD613
        return self.out((weights * h).sum(1))
