# guards: AD609
"""From a coarse loss to a fine one: the weight of the one falls as that of the other rises, along a cosine."""

import math

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 8)
fine = x[:, :4].argmax(1)
coarse = fine // 2
body, coarsely, finely = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.Linear(32, 2), nn.Linear(32, 4)
parts = nn.ModuleList([body, coarsely, finely])
optimizer = torch.optim.Adam(parts.parameters(), lr=3e-3)
for step in range(200):
    share = 0.5 * (1 + math.cos(math.pi * min(1.0, step / 150)))
    rows = torch.randint(0, 400, (40,))
    hidden = body(x[rows])
    loss = share * nn.functional.cross_entropy(coarsely(hidden), coarse[rows])
    loss = loss + (1 - share) * nn.functional.cross_entropy(finely(hidden), fine[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
