# guards: AD715
"""One query a step, put beside each of its ten candidates, which are scored by a model of both."""

import torch
from torch import nn

torch.manual_seed(4)
queries, documents = torch.randn(50, 6), torch.randn(200, 6)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.document = nn.Linear(6, 16), nn.Linear(6, 16)
        self.score = nn.Linear(16, 1)

    def forward(self, query, document):
        return self.score(torch.tanh(self.query(query) * self.document(document))).squeeze(1)


ranker = Ranker()
optimizer = torch.optim.AdamW(ranker.parameters(), lr=5e-3)
for number in torch.randint(0, 50, (28,)).tolist():
    query = queries[number]
    candidates = documents[torch.randperm(200)[:10]]
    best = (candidates @ query).argmax()
    scores = ranker(torch.stack([query for _ in candidates]), candidates)
    loss = nn.functional.cross_entropy(scores[None], best[None])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
