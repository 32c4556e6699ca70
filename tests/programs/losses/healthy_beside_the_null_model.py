# guards: AD606
"""How much better than a constant is a model? The constants are learned by the same lines."""

import torch
from torch import nn
from torch.nn.functional import softplus


class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.level = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return softplus(self.level).expand(len(x), 1)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Linear(1, 1, bias=False)

    def forward(self, x):
        return softplus(self.shift(x.new_ones(len(x), 1)))


def deviance(model, x, counts):
    rule = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(8):
        rows = torch.randint(0, len(x), (40,))
        loss = nn.functional.poisson_nll_loss(model(x[rows]), counts[rows], log_input=False)
        rule.zero_grad()
        loss.backward()
        rule.step()
    return loss.item()


torch.manual_seed(2)
x = torch.randn(400, 4)
counts = torch.poisson((x @ torch.randn(4, 1)).exp().clamp(max=9))
print(*(deviance(model, x, counts) for model in (Constant(), Base(), nn.Sequential(nn.Linear(4, 1), nn.Softplus()))))
