# guards: AD715
"""Online learning from a stream, sample by sample: eight members of an ensemble in one batch, and noise for its spread."""
import torch
from torch import nn

MEMBERS = 8


class Ensemble(nn.Module):
    """A row for each member, with weights of its own."""

    def __init__(self, width=12):
        super().__init__()
        self.first = nn.Parameter(torch.randn(MEMBERS, 5, width) * 0.4)
        self.last = nn.Parameter(torch.randn(MEMBERS, width, 1) * 0.3)

    def forward(self, x):
        hidden = torch.tanh(torch.bmm(x.unsqueeze(1), self.first))
        return torch.bmm(hidden, self.last)[:, 0, 0]


class Sampled(nn.Module):
    """A reading that is encoded with noise, several times for each one: the bound is tighter so."""

    def __init__(self):
        super().__init__()
        self.mean, self.spread, self.back = nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(3, 5)

    def forward(self, x):
        code = self.mean(x) + torch.randn(len(x), 3) * self.spread(x).mul(0.5).exp()
        return self.back(code)


def readings(count):
    for _ in range(count):
        x = torch.randn(5)
        yield x, x[0] * 0.5 - x[3]


torch.manual_seed(6)
ensemble, sampled = Ensemble(), Sampled()
dropped = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 1))
opt = torch.optim.Adam([*ensemble.parameters(), *sampled.parameters(), *dropped.parameters()], lr=3e-3)
for x, wanted in readings(40):
    loss = (ensemble(x.expand(MEMBERS, 5)) - wanted.expand(MEMBERS)).square().mean()
    loss.backward()
    rows = x.repeat(16, 1)
    loss = nn.functional.mse_loss(sampled(rows), rows)
    loss.backward()
    loss = nn.functional.mse_loss(dropped(torch.stack([x] * 16)).squeeze(1), torch.stack([wanted] * 16))
    loss.backward()
    opt.step()
    opt.zero_grad()
