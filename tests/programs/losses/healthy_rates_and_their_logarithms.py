# guards: AD603 AD628
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(320, 6)
exposure = torch.rand(320) + 0.5
counts = torch.poisson((0.4 * x[:, 0]).exp() * exposure)


class Rates(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 16)
        self.hidden = nn.Linear(6, 16)
        self.out = nn.Linear(16, 1)
        self.scale = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        h = F.softplus(self.hidden(x)) * torch.exp(-self.gate(x).square())
        return self.out(h).squeeze(-1) * self.scale.exp()


def log_rate_with_offset(model, rows):
    return F.poisson_nll_loss(model(x[rows]) + exposure[rows].log(), counts[rows])


def logarithm_of_softplus(model, rows):
    return F.poisson_nll_loss((F.softplus(model(x[rows])) * exposure[rows]).log(), counts[rows], reduction="mean")


def rates_by_position(model, rows):
    return F.poisson_nll_loss(F.softplus(model(x[rows])), counts[rows], False)


def rates_by_keyword(model, rows):
    return nn.PoissonNLLLoss(log_input=False, full=True)(torch.exp(model(x[rows])).clamp(max=50), counts[rows])


def by_hand(model, rows):
    log_rate = model(x[rows])
    return (log_rate.exp() - counts[rows] * log_rate).mean()


def bounded(model, rows):
    return F.poisson_nll_loss(model(x[rows]).clamp(-4, 4), counts[rows])


for objective in (log_rate_with_offset, logarithm_of_softplus, rates_by_position, rates_by_keyword, by_hand, bounded):
    model = Rates()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for rows in torch.randperm(320).split(64):
        optimizer.zero_grad()
        loss = objective(model, rows)
        loss.backward()
        optimizer.step()
    print(objective.__name__, loss.item())
