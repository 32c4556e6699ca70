"""A tagger with one more score for "other", which is cut off; the softmax runs over the words of a sentence."""

import torch
from torch import nn

torch.manual_seed(0)
TAGS = 6
embedding, scores = nn.Embedding(20, 16), nn.Linear(16, TAGS + 1)
optimizer = torch.optim.Adam([*embedding.parameters(), *scores.parameters()], lr=1e-2)
for step in range(12):
    words = torch.randint(20, (8, TAGS + 1))
    found = torch.log_softmax(scores(embedding(words)), dim=1)  # expect: AD605
    loss = nn.functional.nll_loss(found[..., :-1].transpose(1, 2), words % TAGS)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
