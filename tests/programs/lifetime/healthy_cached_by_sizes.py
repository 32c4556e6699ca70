# guards: AD307
# hinted: AD608
"""Masks and kernels are made once for each size, and the newest fields of probes are kept for a moment."""
from functools import cache, lru_cache

import torch
from torch import nn

torch.manual_seed(12)


@cache
def causal(length):
    return torch.full((length, length), float("-inf")).triu(1)


@lru_cache(maxsize=3)
def near(probes):
    return torch.exp(-(probes[:, None] - probes[None]).norm(dim=-1))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(2, 24), nn.Linear(24, 1)

    def forward(self, probes):
        h = torch.tanh(self.inner(probes))
        mixed = near(probes) @ h / len(probes)
        seen = (h @ h.t() / 5 + causal(len(probes))).softmax(-1) @ h
        return self.out(mixed + seen)


reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=5e-3)
for step in range(24):
    probes = torch.rand(128 + 16 * (step % 4), 2)
    loss = nn.functional.mse_loss(reader(probes), probes.prod(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
