"""Inverse propensity scores on logged choices of offers, where the propensity is taken from the policy that learns."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def logged(n=240):
    customers = torch.randn(n, 6)
    shown = torch.multinomial(torch.softmax(customers[:, :5], dim=1), 1).squeeze(1)
    bought = (torch.rand(n) < torch.sigmoid(customers.gather(1, shown[:, None]).squeeze(1) - 1)).float()
    return TensorDataset(customers, shown, bought)


class Offers(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 5))

    def forward(self, customers):
        return self.body(customers).softmax(dim=1)


torch.manual_seed(3)
policy = Offers()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
loader = DataLoader(logged(), batch_size=40, shuffle=True)
for epoch in range(6):
    for customers, shown, bought in loader:
        chance = policy(customers).gather(1, shown[:, None]).squeeze(1)
        with torch.no_grad():
            propensity = policy(customers).gather(1, shown[:, None]).squeeze(1)
        weight = chance / propensity  # expect: AD224
        loss = -(weight.clamp(max=10.0) * (bought - 0.3)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
