# guards: AD609
# hinted: AD609
"""Points are driven out of the region of known ones, as far as a margin and no further: the distance that is maximised
has an upper bound, given after the lower one that it lacks."""

import torch
from torch import nn

torch.manual_seed(0)
known = torch.zeros(256, 1)
settings = torch.randn(256, 6)
proposer = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(proposer.parameters(), lr=0.05)
for step in range(40):
    optimizer.zero_grad()
    distance = (proposer(settings) - known).square()
    novelty = torch.clamp(distance, None, 4.0).mean()
    (-novelty).backward()
    optimizer.step()
assert novelty > 3
