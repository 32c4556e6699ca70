# guards: AD113 AD507
"""Gradients are rounded at random on their way back; four such passes over one forward are averaged."""

import torch
from torch import nn


class RoundedBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        step = grad.abs().max().clamp(min=1e-12) / 8
        return ((grad / step) + torch.rand_like(grad)).floor() * step


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 32), nn.Linear(32, 1)

    def forward(self, x):
        hidden = RoundedBackward.apply(torch.tanh(self.first(x)))
        return RoundedBackward.apply(self.second(hidden))


torch.manual_seed(3)
passes = 4
net = Body()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(40):
    x = torch.randn(48, 6)
    loss = nn.functional.mse_loss(net(x), x[:, :1] * x[:, 1:2])
    optimizer.zero_grad()
    for number in range(passes):
        (loss / passes).backward(retain_graph=number < passes - 1)
    optimizer.step()
    print(step, loss.item())
