# guards: AD206
"""A tagger whose embedding is frozen after two passes, and forgets its last gradient as it is."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(60, 16)
        self.context = nn.GRU(16, 16, batch_first=True)
        self.tags = nn.Linear(16, 4)

    def forward(self, sentence):
        return self.tags(self.context(self.words(sentence))[0])


def passes(model, optimizer, sentences, tags, count):
    for _ in range(count):
        for rows in torch.randperm(len(sentences)).split(24):
            scores = model(sentences[rows])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags[rows].flatten())
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()


torch.manual_seed(3)
sentences = torch.randint(60, (240, 7))
tags = sentences % 4
model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
passes(model, optimizer, sentences, tags, 2)
for parameter in model.words.parameters():
    parameter.requires_grad = False
    parameter.grad = None
passes(model, optimizer, sentences, tags, 3)
