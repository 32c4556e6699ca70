# guards: AD608
"""Nodes of one graph learn from their neighbours: with a dense table of edges, and with sparse matrices throughout."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
NODES, WORDS, KINDS = 60, 40, 3
kind = torch.randint(KINDS, (NODES,))
words = (torch.rand(NODES, WORDS) < 0.05 + 0.3 * (torch.arange(WORDS) % KINDS == kind[:, None])).float()
edges = ((kind[:, None] == kind) & (torch.rand(NODES, NODES) < 0.15)).float()
edges = ((edges + edges.t() + torch.eye(NODES)) > 0).float()
seen = torch.rand(NODES) < 0.7


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(WORDS, 16), nn.Linear(16, KINDS)
        self.query = nn.Linear(16, 16)

    def forward(self, x, edges):
        h = torch.tanh(self.inner(x))
        scores = (self.query(h) @ h.t()).masked_fill(edges == 0, float("-inf"))
        return self.outer(h + scores.softmax(1) @ h)


class Averages(nn.Module):
    def __init__(self, edges):
        super().__init__()
        self.weight = nn.Parameter(0.2 * torch.randn(WORDS, 16))
        self.head = nn.Linear(16, KINDS)
        self.register_buffer("mean", (edges / edges.sum(1, keepdim=True)).to_sparse())

    def forward(self, x):
        return self.head(torch.sparse.mm(self.mean, torch.relu(torch.sparse.mm(x, self.weight))))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(WORDS, KINDS, mode="sum", sparse=True)

    def forward(self, tokens, rows):
        return self.table(tokens, rows)


attends, averages, bags = Attends(), Averages(edges), Words()
dense = torch.optim.Adam([*attends.parameters(), *averages.parameters()], lr=0.01)
rare = torch.optim.SparseAdam(bags.parameters(), lr=0.02)
sparse_words = words.to_sparse()
tokens = words.nonzero()[:, 1]
rows = torch.cat([torch.zeros(1), words.sum(1).cumsum(0)[:-1]]).long()

for epoch in range(30):
    for part in (attends, averages, bags):
        part.train()
    dense.zero_grad()
    rare.zero_grad()
    total = 0.0
    for scores in (attends(words, edges), averages(sparse_words), bags(tokens, rows)):
        loss = F.cross_entropy(scores[seen], kind[seen])
        loss.backward()
        total += loss.item()
    dense.step()
    rare.step()
    if epoch % 10 == 9:
        averages.eval()
        with torch.no_grad():
            right = (averages(sparse_words)[~seen].argmax(1) == kind[~seen]).float().mean()
        print(epoch, total, right.item())
