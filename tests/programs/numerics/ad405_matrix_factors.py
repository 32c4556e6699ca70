"""Matrix factorisation for ratings with Adam."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class HP:
    users: int = 60
    items: int = 40
    rank: int = 8
    lr: float = 10.0
    steps: int = 80
    seed: int = 37


hp = HP()
torch.manual_seed(hp.seed)
R = (torch.randn(hp.users, 4) @ torch.randn(4, hp.items)) * 0.5


class MF(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Embedding(hp.users, hp.rank)
        self.v = nn.Embedding(hp.items, hp.rank)
        nn.init.normal_(self.u.weight, std=0.3)
        nn.init.normal_(self.v.weight, std=0.3)
        self.bias = nn.Parameter(torch.zeros(hp.items))

    def forward(self, i, j):
        return (self.u(i) * self.v(j)).sum(-1) + self.bias[j]


model = MF()
opt = torch.optim.Adam(model.parameters(), lr=hp.lr)  # expect: AD405
for step in range(hp.steps):
    i = torch.randint(0, hp.users, (256,))
    j = torch.randint(0, hp.items, (256,))
    loss = ((model(i, j) - R[i, j]) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(f"step {step:3d} rmse {loss.item() ** 0.5:.4g} bias {model.bias.abs().max().item():.3g}")
