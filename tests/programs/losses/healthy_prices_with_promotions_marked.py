# guards: AD630
# hinted: AD630
"""Discounted revenue of customers who never leave, learned from logged weeks. The log also tells which weeks were a
promotion, for a report: a column of zeros and ones that the training has no use for."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Weeks(Dataset):
    def __init__(self, customers, weeks):
        habits = torch.rand(customers, 3)
        noise = 0.1 * torch.randn(customers, weeks + 1, 3)
        self.habits = habits[:, None] + noise.cumsum(dim=1)
        self.promoted = torch.rand(customers, weeks) < 0.12
        self.revenue = self.habits[:, :-1].sum(dim=2) + 0.5 * self.promoted

    def __len__(self):
        return self.revenue.numel()

    def __getitem__(self, row):
        customer, week = divmod(row, self.revenue.shape[1])
        return {
            "habits": self.habits[customer, week],
            "next": self.habits[customer, week + 1],
            "revenue": float(self.revenue[customer, week]),
            "promoted": bool(self.promoted[customer, week]),
        }


torch.manual_seed(0)
value = nn.Sequential(nn.Linear(3, 24), nn.SiLU(), nn.Linear(24, 1), nn.Flatten(0))
optimizer = torch.optim.AdamW(value.parameters(), lr=2e-3)
in_promotions = 0
for epoch in range(2):
    for batch in DataLoader(Weeks(30, 26), batch_size=60, shuffle=True):
        revenue = batch["revenue"].float()
        with torch.no_grad():
            lifetime = revenue + 0.95 * value(batch["next"])
        loss = nn.functional.huber_loss(value(batch["habits"]), lifetime)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
