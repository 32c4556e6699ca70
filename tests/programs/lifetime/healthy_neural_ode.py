# guards: AD303
"""A neural ODE by hand: Runge-Kutta steps unrolled with a bounded horizon."""
import torch
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, y):
        return self.net(y)


def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y, steps, h=0.1):
    path = [y]
    for _ in range(steps):
        path.append(rk4(f, path[-1], h))
    return torch.stack(path)


torch.manual_seed(0)
A = torch.tensor([[-0.1, 1.0], [-1.0, -0.1]])
func = Field()
optimizer = torch.optim.RMSprop(func.parameters(), lr=3e-3)
for it in range(25):
    y0 = torch.rand(24, 2) * 2 - 1
    with torch.no_grad():
        true = odeint(lambda y: y @ A.T, y0, 5)
    loss = (odeint(func, y0, 5) - true).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 8 == 0:
        print(it, loss.item())
