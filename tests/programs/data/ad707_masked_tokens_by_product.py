"""Masked language modelling by hand: losses of all positions, times a mask of those that were hidden."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
HIDDEN, WORDS, LENGTH = 0, 12, 10


class Model(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, width), nn.Embedding(LENGTH, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(width, WORDS)

    def forward(self, tokens):
        return self.out(self.layer(self.words(tokens) + self.positions.weight))


def batch(n=16):
    start = torch.randint(1, WORDS, (n, 1))
    text = (start + torch.arange(LENGTH) - 1) % (WORDS - 1) + 1
    return text, text.masked_fill(torch.rand(text.shape) < 0.2, HIDDEN)


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(30):
    text, seen = batch()
    losses = F.cross_entropy(model(seen).transpose(1, 2), text, reduction="none")
    hidden = (text == HIDDEN).float()
    loss = (losses * hidden).sum() / (hidden.sum() + 1e-6)  # expect: AD707
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
