# guards: AD310
"""Variance of the weights over the run, as for a Gaussian posterior, gathered by an object that holds a live view."""

import torch
import torch.nn.functional as F
from torch import nn


class Posterior:
    """First and second moments of weights, which it reads where they lie."""

    def __init__(self, module):
        self.live = module.state_dict()
        self.first = [torch.zeros_like(value) for value in self.live.values()]
        self.second = [torch.zeros_like(value) for value in self.live.values()]
        self.count = 0

    @torch.no_grad()
    def collect(self):
        self.count += 1
        for first, second, value in zip(self.first, self.second, self.live.values()):
            first.lerp_(value, 1 / self.count)
            second.lerp_(value.square(), 1 / self.count)

    def spread(self):
        return sum((b - a.square()).clamp_min(0).sum().item() for a, b in zip(self.first, self.second))


torch.manual_seed(0)
text = torch.randint(0, 9, (80, 6))
topic = (text.float().mean(1) > 4).long()
model = nn.Sequential(nn.EmbeddingBag(9, 12), nn.Linear(12, 2))
posterior = Posterior(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for _ in range(4):
    for batch in torch.randperm(80).split(16):
        loss = F.cross_entropy(model(text[batch]), topic[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        posterior.collect()
print(loss.item(), posterior.spread())
