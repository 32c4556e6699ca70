# guards: AD408
"""A plan of a warehouse: stock is never below 0, orders are limited, and prices start at a floor that few reach."""
import torch
from torch import nn

torch.manual_seed(9)
goods, days = 12, 30
demand = torch.rand(400, goods)


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Linear(goods, 32)
        self.order = nn.Linear(32, goods)
        self.price = nn.Linear(32, 8)
        self.sell = nn.Linear(goods + 8, goods)

    def forward(self, stock):
        seen = self.look(stock).clamp(-1, 1)
        order = self.order(seen).clamp_min(0)
        price = (self.price(seen) - 3).clamp(min=-3.5)
        return self.sell(torch.cat([order, price], dim=1))


planner = Planner()
optimizer = torch.optim.Adam(planner.parameters(), lr=3e-3)
for rows in torch.randperm(400).split(16):
    wanted = demand[rows]
    said = planner(wanted)
    missing = (wanted - said).clamp(min=0) + 5 * (said - 3).clamp_min(0)
    loss = missing.mean() + 0.1 * (said - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
