# guards: AD226
"""A lossy codec for weather profiles: residual quantisation, rounding with straight-through gradients written in
several ways, and a blend of soft and hard choices."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


def round_through(x, levels):
    y = (x * levels).round() / levels
    return x + (y - x).detach()


def hard_through(soft):
    hard = F.one_hot(soft.argmax(-1), soft.shape[-1]).to(soft)
    return hard - soft.detach() + soft


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(30, 12)
        self.books = nn.ParameterList(nn.Parameter(0.3 * torch.randn(16, 12)) for _ in range(2))
        self.select = nn.Linear(12, 4)
        self.dec = nn.Linear(16, 30)

    def forward(self, x, blend):
        z = torch.tanh(self.enc(x))
        rest, total, pull = z, torch.zeros_like(z), 0.0
        for book in self.books:
            q = book[torch.cdist(rest, book).argmin(1)]
            pull = pull + F.mse_loss(q, rest.detach()) + 0.25 * F.mse_loss(rest, q.detach())
            total = total + q
            rest = rest - q.detach()
        quantised = z + (total - z).detach()
        quantised = quantised + blend * (round_through(z, 4) - quantised)
        return self.dec(torch.cat([quantised, hard_through(self.select(z).softmax(-1))], 1)), pull


codec = Codec()
opt = torch.optim.Adam(codec.parameters(), lr=4e-3)
altitude = torch.linspace(0, 1, 30)
for step in range(50):
    a, b = torch.rand(48, 1), torch.rand(48, 1)
    profile = a - 2 * altitude * b + 0.3 * torch.sin(6 * altitude + 3 * a)
    out, pull = codec(profile, blend=0.3)
    loss = F.mse_loss(out, profile) + pull
    opt.zero_grad()
    loss.backward()
    opt.step()
