# guards: AD114
"""A tagger with micro-batches of unlike sizes: the backward of each begins with its share of the words."""

import torch
from torch import nn

torch.manual_seed(0)
tagger = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 5))
optimizer = torch.optim.Adam(tagger.parameters(), lr=0.01)
for _ in range(6):
    sentences = [torch.randint(20, (length,)) for length in (4, 9, 7)]
    words = sum(map(len, sentences))
    for sentence in sentences:
        loss = nn.functional.cross_entropy(tagger(sentence), sentence % 5)
        loss.backward(gradient=torch.tensor(len(sentence) / words))
    optimizer.step()
    optimizer.zero_grad()
