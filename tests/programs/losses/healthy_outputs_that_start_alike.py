# guards: AD606
"""Outputs that are the same for a while, or in part: heads that begin at zero, a warm-up, prototypes, a shared spread."""

import torch
import torch.nn.functional as F
from torch import nn


class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.GELU())
        self.head = nn.Linear(16, 2)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head(self.body(x))


class Prototypes(nn.Module):
    """As many rows as there are classes, whatever it is called with; the loss compares samples with them."""

    def __init__(self):
        super().__init__()
        self.points = nn.Parameter(torch.randn(3, 5))

    def forward(self, x):
        return -torch.cdist(x, self.points)


class Density(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_scale = nn.Parameter(torch.zeros(5)), nn.Parameter(torch.zeros(5))

    def forward(self, x):
        return (self.log_scale + 0.5 * ((x - self.mean) / self.log_scale.exp()).square()).sum(1)


torch.manual_seed(4)
adapter, prototypes, density = Adapter(), Prototypes(), Density()
optimizer = torch.optim.SGD(nn.ModuleList([adapter, prototypes, density]).parameters(), lr=0.1)
warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 3))
for _ in range(20):
    x = torch.randn(16, 5) + 1
    told = F.cross_entropy(adapter(x), (x[:, 0] > 1).long())
    near = F.cross_entropy(prototypes(x), (x[:, 1] > 1).long())
    loss = told + near + 0.1 * density(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm_up.step()
print(loss.item())
