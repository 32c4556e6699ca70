"""Momentum contrast: the encoder of the keys is copied with copy.copy, and drawn after that of the queries."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
queries = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))
keys = copy.copy(queries)  # expect: AD310
optimizer = torch.optim.SGD(queries.parameters(), lr=0.03)
memory = nn.functional.normalize(torch.randn(256, 16), dim=1)


@torch.no_grad()
def follow(momentum=0.99):
    for slow, fast in zip(keys.parameters(), queries.parameters()):
        slow.data.mul_(momentum).add_(fast.data, alpha=1 - momentum)


for step in range(24):
    sample = torch.randn(32, 20)
    q = nn.functional.normalize(queries(sample + 0.1 * torch.randn(32, 20)), dim=1)
    with torch.no_grad():
        k = nn.functional.normalize(keys(sample + 0.1 * torch.randn(32, 20)), dim=1)
    scores = torch.cat([(q * k).sum(1, keepdim=True), q @ memory.T], dim=1) / 0.2
    loss = nn.functional.cross_entropy(scores, torch.zeros(32, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow()
    memory = torch.cat([k, memory[:-32]])
