# guards: AD605 AD603
"""A tagger of words and a map of land use, each with one more score that says "unknown", which no target names."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words, tags):
        super().__init__()
        self.embedding = nn.Embedding(words, 16)
        self.states = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.scores = nn.Linear(48, tags + 1)

    def forward(self, words):
        return self.scores(self.states(self.embedding(words))[0]).log_softmax(dim=-1)


class LandUse(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, kinds, 1))

    def forward(self, image):
        scores = self.body(image)
        unknown = torch.full_like(scores[:, :1], -1.0)
        return torch.cat([unknown, scores], dim=1).softmax(dim=1)


torch.manual_seed(4)
TAGS, KINDS = 5, 4
tagger, mapper = Tagger(30, TAGS), LandUse(KINDS)
optimizer = torch.optim.AdamW([*tagger.parameters(), *mapper.parameters()], lr=1e-2)
criterion = nn.NLLLoss()
for round_ in range(25):
    words = torch.randint(30, (12, 7))
    found = tagger(words)
    doubt = found[..., TAGS].exp().mean()
    tagging = criterion(found[..., :TAGS].transpose(1, 2), words % TAGS)

    image = torch.rand(6, 3, 9, 8)
    kinds = (image.mean(1) * 16 - 6).long().clamp(0, KINDS - 1)
    seen = torch.rand(6) < 0.8
    seen[0] = True
    known = mapper(image)[seen][:, 1:].log()
    mapping = nn.functional.nll_loss(known, kinds[seen])

    optimizer.zero_grad()
    (tagging + mapping + 0.1 * doubt).backward()
    optimizer.step()
