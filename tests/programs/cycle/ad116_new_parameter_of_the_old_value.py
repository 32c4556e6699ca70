"""A scheduler by hand that rounds the rate down to an integer: every new parameter holds the old values."""

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.full((4,), 0.1))

    def forward(self, x):
        return x @ self.slope


def rate(epoch, base=0.2, decay=50):
    return base * (1 - epoch // decay) // 1


model = Regressor()
goal = torch.tensor([1.0, -2.0, 0.5, 3.0])
for epoch in range(30):
    x = torch.randn(32, 4)
    loss = (model(x) - x @ goal).square().mean()
    (slope,) = torch.autograd.grad(loss, [model.slope])
    model.slope = nn.Parameter(model.slope - rate(epoch) * slope)  # expect: AD116
    print(epoch, loss.item())
