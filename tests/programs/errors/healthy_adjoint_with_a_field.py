# guards: AD507
"""A source term is learned through a Poisson solver, whose adjoint is written by hand and takes the grid along."""

from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Field:
    n: int = 24
    h: float = 1 / 25
    kappa: torch.Tensor = field(default_factory=lambda: torch.linspace(0.5, 1.5, 25))

    def __post_init__(self):
        main = (self.kappa[:-1] + self.kappa[1:]) / self.h**2
        off = -self.kappa[1:-1] / self.h**2
        self.A = torch.diag(main) + torch.diag(off, 1) + torch.diag(off, -1)


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rhs, field):
        ctx.field = field
        return torch.linalg.solve(field.A, rhs.unsqueeze(-1)).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        return torch.linalg.solve(ctx.field.A.T, g.unsqueeze(-1)).squeeze(-1), None


torch.manual_seed(0)
grid = Field()
xs = torch.linspace(0, 1, 26)[1:-1]
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 24))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(40):
    params = torch.rand(16, 4)
    want = params[:, :1] * xs * (1 - xs) + 0.3 * params[:, 1:2] * torch.sin(3.14 * xs)
    u = Solve.apply(net(params), grid)
    loss = ((u - want) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
