# guards: AD207 AD204
"""Rotations stay out of `parameters()`: Adam must not touch them, and a step on the manifold moves them by hand."""

import torch
from torch import nn


class Rotated(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.begin, self.end = nn.Linear(5, width), nn.Linear(width, 1)
        self.rotations = [nn.Linear(width, width, bias=False) for _ in range(2)]
        for each in self.rotations:
            nn.init.orthogonal_(each.weight)

    def forward(self, x):
        hidden = torch.relu(self.begin(x))
        for each in self.rotations:
            hidden = nn.functional.leaky_relu(each(hidden), 0.2)
        return self.end(hidden)

    @torch.no_grad()
    def rotate(self, rate):
        for each in self.rotations:
            weight, gradient = each.weight, each.weight.grad
            tangent = gradient - weight @ gradient.t() @ weight
            q, r = torch.linalg.qr(weight - rate * tangent)
            weight.copy_(q * torch.sign(torch.diagonal(r)))
            each.weight.grad = None


torch.manual_seed(0)
model = Rotated()
adam = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    x = torch.randn(64, 5)
    loss = nn.functional.mse_loss(model(x), x.abs().sum(1, keepdim=True))
    adam.zero_grad()
    loss.backward()
    adam.step()
    model.rotate(0.02)
