# guards: AD625
"""Counts of words: zeros are filled with a small number ahead of a logarithm, and of a softmax whose weights are masked
afterwards."""

import torch
from torch import nn

torch.manual_seed(0)
topics, score = nn.Linear(20, 4), nn.Linear(20, 20)
optimizer = torch.optim.Adam([*topics.parameters(), *score.parameters()], lr=5e-3)
kinds = torch.rand(4, 20) ** 3
for step in range(40):
    kind = torch.randint(0, 4, (32,))
    counts = torch.poisson(3 * kinds[kind])
    shares = (counts / counts.sum(1, keepdim=True).clamp(min=1)).masked_fill(counts == 0, 1e-6)
    logs = shares.log()
    weights = score(logs).masked_fill(counts == 0, 0.0).softmax(1) * (counts > 0)
    seen = weights / weights.sum(1, keepdim=True).clamp(min=1e-9) * logs
    loss = nn.functional.cross_entropy(topics(seen), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
