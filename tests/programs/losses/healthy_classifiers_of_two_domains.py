# guards: AD627
"""A source and a target classifier, one begun as a copy of the other; confusion over the classes of both domains."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(20, 24), nn.ReLU())
source = nn.Linear(24, 5)
target = copy.deepcopy(source)
optimizer = torch.optim.SGD([*body.parameters(), *source.parameters(), *target.parameters()], lr=0.05)
for step in range(30):
    x = torch.randn(32, 20)
    y = x[:, :5].argmax(1)
    h = body(x)
    both = torch.cat([source(h), target(h)], dim=1)
    loss = 0.5 * F.cross_entropy(both, y) + 0.5 * F.cross_entropy(both, y + 5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
