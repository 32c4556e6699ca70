# guards: AD124
"""Whatever its length, a text counts as one: by a mean over its own tokens, in batches or one text at a time."""

import torch
import torch.nn.functional as F
from torch import nn


def text_losses(model, tokens):
    each = F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:], ignore_index=0, reduction="none")
    counts = (tokens[:, 1:] != 0).float()
    return (each * counts).sum(1) / counts.sum(1)


torch.manual_seed(0)
texts = []
for _ in range(30):
    tokens = torch.randint(1, 12, (6, 5 if torch.rand(()) < 0.5 else 30))
    tokens[::2, -2:] = 0
    texts.append(tokens)
model = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(24):
    for i in torch.randint(0, 30, (3,)).tolist():
        if step % 2:
            loss = text_losses(model, texts[i]).mean()
        else:
            one = texts[i][:1]
            loss = F.cross_entropy(model(one[:, :-1]).flatten(0, 1), one[:, 1:].flatten(), ignore_index=0)
        (loss / 3).backward()
    optimizer.step()
    optimizer.zero_grad()
