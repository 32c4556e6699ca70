# guards: AD507
"""Functions of several pieces, of which few elements reach the last: right derivatives, a bound that gradients pass, a
threshold with a surrogate, and a gradient that is held where it would be steep."""
import torch
from torch import nn


def function(values, slopes):
    class Piecewise(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return values(x)

        @staticmethod
        def backward(ctx, incoming):
            (x,) = ctx.saved_tensors
            return slopes(x, incoming)

    return Piecewise


ramp = function(
    lambda x: torch.where(x > 1.8, 3.6 * x - 3.24, torch.where(x < -1.8, -x - 1.8, x * x.relu())),
    lambda x, g: g * torch.where(x > 1.8, 3.6, torch.where(x < -1.8, -1.0, 2 * x.relu())),
)
bounded = function(lambda x: x.clamp(-2, 2), lambda x, g: g)
fires = function(lambda x: (x > 1.9).to(x.dtype), lambda x, g: g / (1 + (x - 1.9).abs()).square())
held = function(lambda x: x**3 / 3, lambda x, g: g * x.square().clamp(max=3.0))
total = function(lambda x: torch.where(x.abs() > 2, x.abs(), x.square() / 4 + 1).mean(), None)
total.backward = staticmethod(
    lambda ctx, g: g * torch.where(ctx.saved_tensors[0].abs() > 2, ctx.saved_tensors[0].sign(), ctx.saved_tensors[0] / 2)
    / ctx.saved_tensors[0].numel()
)

torch.manual_seed(3)
before, after = nn.Linear(6, 12), nn.Linear(48, 1)
learner = torch.optim.SGD([*before.parameters(), *after.parameters()], lr=0.01)
for _ in range(20):
    x = torch.randn(48, 6)
    x[::9] *= 3
    h = before(x)
    pieces = torch.cat([each.apply(h) for each in (ramp, bounded, fires, held)], dim=1)
    loss = (after(pieces) - x.sum(1, keepdim=True)).abs().mean() + 0.01 * total.apply(h)
    learner.zero_grad()
    loss.backward()
    learner.step()
