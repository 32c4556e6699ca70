"""Choice of a bundle of goods: three budgets are to be kept, and what breaks them is added to the loss."""
import torch
from torch import nn

torch.manual_seed(7)
prices = torch.rand(3, 5)
taste = torch.randn(8, 5)


class Planner(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 5), nn.Softplus())

    def forward(self, needs):
        return self.body(needs)


def overspent(bundle):
    excess = torch.relu(bundle @ prices.t() - 0.8).mean(0)
    costs = [row for row in excess]
    return torch.tensor(costs, requires_grad=True)


planner = Planner()
optimizer = torch.optim.RMSprop(planner.parameters(), lr=0.005)
for day in range(30):
    needs = torch.randn(32, 8)
    bundle = planner(needs)
    fit = (bundle - torch.relu(needs @ taste)).abs().mean()
    loss = fit + 2 * overspent(bundle).mean()  # <- AD217
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
