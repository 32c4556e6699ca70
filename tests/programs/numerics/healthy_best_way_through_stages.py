# guards: AD417
"""The best way through stages of a process, of which only the first may begin: scores of others are minus infinity."""

import torch
from torch import nn

torch.manual_seed(0)
scorer = nn.Linear(6, 4)
passing = nn.Parameter(torch.zeros(4, 4))
optimizer = torch.optim.Adam([*scorer.parameters(), passing], lr=1e-2)
forbidden = torch.ones(4, 4, dtype=torch.bool).tril(-1)
for _ in range(25):
    seen = torch.randn(12, 5, 6)
    scores = scorer(seen)
    best = torch.full((12, 4), -torch.inf)
    best[:, 0] = 0
    steps = passing.masked_fill(forbidden, -torch.inf)
    right = torch.zeros(12)
    for time in range(5):
        best = (best[:, :, None] + steps).amax(1) + scores[:, time]
        reached = torch.relu(best[:, 3] + 4)
        right = right + scores[:, time, min(time, 3)]
    loss = torch.relu(1 + best.amax(1) - right).mean() + 0.01 * reached.mean() + 0.01 * scores.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
