# guards: AD611
# hinted: AD611
"""Baskets are rebuilt from a part of themselves: a basket is so many draws from one distribution over all goods."""

import torch
from torch import nn

torch.manual_seed(0)
GOODS = 30
liked = torch.randn(4, GOODS)


class Baskets(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(GOODS, 16)
        self.offer = nn.Linear(16, GOODS)

    def forward(self, bought):
        share = bought / bought.sum(1, keepdim=True).clamp(min=1)
        return self.offer(torch.tanh(self.read(share)))


baskets = Baskets()
optimizer = torch.optim.Adam(baskets.parameters(), lr=1e-2)
for _ in range(20):
    bought = torch.rand(24, GOODS) < torch.sigmoid(torch.randn(24, 4) @ liked - 1)
    seen = bought & (torch.rand(24, GOODS) < 0.7)
    scores = baskets(torch.where(seen, 1.0, 0.0))
    loss = nn.functional.cross_entropy(scores, bought.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
