# guards: AD220
"""PINN for the Poisson equation on collocation points made once with requires_grad, residual with create_graph=True."""
import math

import torch
from torch import nn

torch.manual_seed(0)


class PINN(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


def d(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


x_f = torch.linspace(0, 1, 40).view(-1, 1).requires_grad_(True)
x_b = torch.tensor([[0.0], [1.0]])
u_b = torch.zeros(2, 1)
f = -(math.pi ** 2) * torch.sin(math.pi * x_f.detach())

model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    u = model(x_f)
    residual = d(d(u, x_f), x_f) - f
    loss_f = residual.pow(2).mean()
    loss_b = (model(x_b) - u_b).pow(2).mean()
    loss = loss_f + 100 * loss_b
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 13 == 0:
        print(epoch, loss_f.item(), loss_b.item())
