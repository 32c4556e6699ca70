# guards: AD624
"""Momentum contrast: the key of the same sample, and a queue of old ones; products by `einsum`, over a temperature."""
import copy

import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

torch.manual_seed(4)
DIM, QUEUE, BATCH = 16, 128, 32
encode_q = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, DIM))
encode_k = copy.deepcopy(encode_q).requires_grad_(False)
queue = normalize(torch.randn(DIM, QUEUE), dim=0)
sgd = torch.optim.SGD(encode_q.parameters(), lr=0.05, momentum=0.9)
at = 0
for step in range(40):
    x = torch.randn(BATCH, 10)
    q = normalize(encode_q(x + 0.1 * torch.randn_like(x)), dim=1)
    with torch.no_grad():
        for fast, slow in zip(encode_q.parameters(), encode_k.parameters()):
            slow.mul_(0.95).add_(fast, alpha=0.05)
        k = normalize(encode_k(x + 0.1 * torch.randn_like(x)), dim=1)
    positive = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
    negative = torch.einsum("nc,ck->nk", [q, queue.clone()])
    logits = torch.cat([positive, negative], dim=1) / 0.07
    loss = cross_entropy(logits, torch.zeros(BATCH, dtype=torch.long))
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    queue[:, at : at + BATCH] = k.t()
    at = (at + BATCH) % QUEUE
