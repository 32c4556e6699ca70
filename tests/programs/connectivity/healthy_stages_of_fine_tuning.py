# guards: AD214 AD204 AD206
import torch
from torch import nn
from torch.nn import functional as F


class Backbone(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())


def points(classes, n=48):
    y = torch.randint(0, classes, (n,))
    x = torch.randn(n, 10)
    x[torch.arange(n), y] += 2.5
    return x, y


def fit(forward, optimizer, classes, steps, before=None):
    for step in range(steps):
        if before is not None:
            before(step)
        x, y = points(classes)
        loss = F.cross_entropy(forward(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
backbone, first = Backbone(), nn.Linear(16, 4)
print(fit(nn.Sequential(backbone, first), torch.optim.Adam([*backbone.parameters(), *first.parameters()]), 4, 40))

backbone.requires_grad_(False).eval()
second = nn.Linear(16, 6)
optimizer = torch.optim.Adam(second.parameters(), lr=3e-3)


def thaw(step):
    if step == 20:
        backbone.requires_grad_(True).train()
        optimizer.add_param_group({"params": backbone.parameters(), "lr": 3e-4})


print(fit(nn.Sequential(backbone, second), optimizer, 6, 40, before=thaw))

third = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
backbone.requires_grad_(False).eval()
print(fit(lambda x: third(backbone(x)), torch.optim.Adam(third.parameters(), lr=3e-3), 3, 30))
backbone.requires_grad_(True).train()
whole = torch.optim.Adam([{"params": backbone.parameters(), "lr": 1e-4}, {"params": third.parameters()}], lr=1e-3)
print(fit(nn.Sequential(backbone, third), whole, 3, 30))
