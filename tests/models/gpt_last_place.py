import torch
from torch import nn
from torch.nn import functional as F


class Babbler(nn.Module):
    """Without targets it only looks at the last place, which is all that sampling needs."""

    def __init__(self, vocabulary=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.step = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, idx, targets=None):
        x, _ = self.step(self.embed(idx))
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())
