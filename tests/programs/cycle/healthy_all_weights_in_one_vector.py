# guards: AD116 AD204
"""Weights of a small tagger are cut out of one vector, and so are their gradients: one line moves them all."""

import torch
import torch.nn.functional as F
from torch import nn


class Arena:
    def __init__(self, module):
        weights = list(module.parameters())
        self.values = torch.nn.utils.parameters_to_vector(weights).detach()
        self.slopes = torch.zeros_like(self.values)
        start = 0
        for weight in weights:
            stop = start + weight.numel()
            weight.data = self.values[start:stop].view_as(weight)
            weight.grad = self.slopes[start:stop].view_as(weight)
            start = stop


torch.manual_seed(0)
tagger = nn.Sequential(nn.Embedding(30, 12), nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
arena = Arena(tagger)
momentum = torch.zeros_like(arena.values)
start = arena.values.clone()
for _ in range(30):
    words = torch.randint(0, 30, (16, 6))
    arena.slopes.zero_()
    F.cross_entropy(tagger(words).flatten(0, 1), (words % 4).flatten()).backward()
    torch.nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
    momentum.mul_(0.8).add_(arena.slopes).add_(arena.values - start, alpha=1e-3)
    arena.values.add_(momentum, alpha=-0.1)
