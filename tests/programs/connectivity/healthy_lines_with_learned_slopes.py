# guards: AD225
"""A dose response that is a line in the logarithm of the dose, with coefficients from a network: its bend is zero, and
that of the square beside it is not."""

import torch
from torch import nn

torch.manual_seed(0)
patient = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(patient.parameters(), lr=4e-3)


def bend(response, dose):
    (slope,) = torch.autograd.grad(response.sum(), dose, create_graph=True)
    return torch.autograd.grad(slope.sum(), dose, create_graph=True)[0]


for step in range(40):
    who, dose = torch.randn(48, 4), torch.rand(48, 1, requires_grad=True)
    straight, curved = patient(who).split([2, 3], dim=1)
    line, bowl = ((each * dose ** torch.arange(each.shape[1])).sum(1, keepdim=True) for each in (straight, curved))
    measured = who[:, :1] + 2 * dose.detach()
    loss = (line - measured).square().mean() + (bowl - measured**2).square().mean()
    loss = loss + 1e-3 * (bend(line, dose).square().mean() + bend(bowl, dose).square().mean())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
