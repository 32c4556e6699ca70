"""A heat equation in a class of its own, with one helper for all derivatives."""

import math

import torch
import torch.nn as nn


class Field(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        return self.body(torch.cat([x, t], dim=1))


def derivative(of, by, again):
    return torch.autograd.grad(of, by, grad_outputs=torch.ones_like(of), create_graph=again, retain_graph=True)[0]  # <- AD223


class Solver:
    def __init__(self, alpha=0.1):
        torch.manual_seed(5)
        self.field, self.alpha = Field(), alpha
        self.adam = torch.optim.Adam(self.field.parameters(), lr=3e-3)

    def residual(self, n):
        x, t = torch.rand(n, 1), torch.rand(n, 1)
        x.requires_grad, t.requires_grad = True, True
        u = self.field(x, t)
        u_x = derivative(u, x, again=True)
        u_t = derivative(u, t, again=True)
        u_xx = derivative(u_x, x, again=False)
        return u_t - self.alpha * u_xx

    def boundary(self, n):
        x = torch.rand(n, 1)
        start = self.field(x, torch.zeros(n, 1)) - torch.sin(math.pi * x)
        ends = self.field(torch.randint(0, 2, (n, 1)).float(), torch.rand(n, 1))
        return start.pow(2).mean() + ends.pow(2).mean()

    def fit(self, steps):
        for step in range(steps):
            self.adam.zero_grad()
            loss = self.residual(64).pow(2).mean() + self.boundary(32)
            loss.backward()
            self.adam.step()
            if step % 10 == 0:
                print(f"{step:4d} {loss.item():.5f}")


Solver().fit(30)
