"""Queries are matched with documents; the queries held out begin before the end of those trained on, and their score
builds a graph that nothing uses."""

import torch
from torch import nn

torch.manual_seed(0)
queries, documents = torch.randn(300, 16), torch.randn(300, 16)
documents = documents + queries @ torch.randn(16, 16) / 4
order = torch.randperm(300)
trained, held_out = order[:240], order[200:]  # expect: AD706

tower = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 16))
optimizer = torch.optim.AdamW(tower.parameters(), lr=1e-3)
for epoch in range(5):
    tower.train()
    for rows in trained[torch.randperm(240)].split(40):
        scores = tower(queries[rows]) @ documents[rows].T / 4
        loss = nn.functional.cross_entropy(scores, torch.arange(40))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tower.eval()
    hits = 0.0
    for rows in held_out.split(50):
        scores = tower(queries[rows]) @ documents[rows].T  # expect: AD209
        hits += (scores.argmax(1) == torch.arange(50)).sum().item()
    print(epoch, hits / 100)
