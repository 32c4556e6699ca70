# guards: AD202 AD507
"""Custom function with two inputs of which one gets None because it is not needed, and a frozen branch."""

import torch
from torch import nn


class ScaledClamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x, limit)
        return torch.minimum(torch.maximum(x, -limit), limit)

    @staticmethod
    def backward(ctx, grad):
        x, limit = ctx.saved_tensors
        gx = gl = None
        if ctx.needs_input_grad[0]:
            gx = grad * (x.abs() <= limit)
        if ctx.needs_input_grad[1]:
            gl = (grad * (x > limit) - grad * (x < -limit)).sum(0)
        return gx, gl


torch.manual_seed(0)
front = nn.Linear(4, 4).requires_grad_(False)
limit = nn.Parameter(torch.full((4,), 0.3))
back = nn.Linear(4, 1)
opt = torch.optim.Adam([limit, *back.parameters()], lr=1e-2)
for step in range(8):
    x = torch.randn(16, 4)
    loss = (back(ScaledClamp.apply(front(x), limit)) - x[:, :1]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
