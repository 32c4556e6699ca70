# guards: AD718
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Incomes(nn.Module):
    """Starts from the mean of the data; a learned layer gives the unit."""

    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("std", std)
        self.body = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 1))
        self.base = nn.Parameter(mean.clone())

    def forward(self, x):
        return self.base + self.std * self.body(x).squeeze(1)


class Visitors(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_rate = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.log_rate(x).squeeze(1)


torch.manual_seed(0)
x = torch.randn(800, 6)
income = 41_000 + 9_000 * x[:, 0] + 2_000 * torch.randn(800)
visits = torch.poisson(torch.exp(5.5 + 0.4 * x[:, 1]))
incomes, visitors = Incomes(income.mean(), income.std()), Visitors()
first = torch.optim.Adam(incomes.body.parameters(), lr=3e-3)
first.add_param_group({"params": [incomes.base], "lr": 10.0})
second = torch.optim.Adam(visitors.parameters(), lr=1e-2)
for epoch in range(2):
    for xb, money, count in DataLoader(TensorDataset(x, income, visits), batch_size=40, shuffle=True):
        loss = F.l1_loss(incomes(xb), money) / incomes.std
        first.zero_grad()
        loss.backward()
        first.step()
        nll = F.poisson_nll_loss(visitors(xb), count)
        second.zero_grad()
        nll.backward()
        second.step()
    print(epoch, loss.item(), nll.item())
