# guards: AD639
"""A dose model that is to bend little: the size of one product of its Hessian is a penalty, whatever it holds."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 24), nn.Softplus(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(25):
    x = torch.randn(48, 5, requires_grad=True)
    dose = model(x)
    (slope,) = torch.autograd.grad(dose.sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
    wanted = x.detach()[:, :2].square().sum(1, keepdim=True)
    loss = (dose - wanted).square().mean() + 0.01 * bend.norm(dim=1).mean() + 0.01 * bend.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
