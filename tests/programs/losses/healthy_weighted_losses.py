# guards: AD619
"""Losses that are weighed value by value, as wholes, by their own uncertainty, and one sample at a time."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
trunk, heads = nn.Sequential(nn.Linear(8, 32), nn.ReLU()), nn.ModuleList([nn.Linear(32, 4), nn.Linear(32, 1)])
spread = nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([*trunk.parameters(), *heads.parameters(), spread], lr=3e-3)
schedule = torch.linspace(0.2, 1.0, 30)
for step in range(30):
    x = torch.randn(16, 8)
    kind, size = x[:, :4].argmax(1), x.sum(1, keepdim=True)
    hidden = trunk(x)
    scores, guess = heads[0](hidden), heads[1](hidden)
    trust = torch.rand(16)
    weighed = (F.cross_entropy(scores, kind, reduction="none") * trust).sum() / trust.sum()
    by_class = F.cross_entropy(scores, kind, weight=torch.tensor([1.0, 2.0, 1.0, 0.5]))
    whole = F.mse_loss(guess, size)
    uncertain = (torch.stack([by_class, whole]) * (-spread).exp() + spread).sum()
    single = sum(F.mse_loss(guess[row], size[row]) * trust[row] for row in range(4)) / 4
    loss = weighed + uncertain + schedule[step] * whole + 0.1 * single
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), spread.tolist())
