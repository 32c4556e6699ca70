"""A quantised-looking layer whose comments promise a straight-through surrogate; its backward is simply wrong."""
import torch
from torch import nn


class ClampedSpikeSTE(torch.autograd.Function):
    """Surrogate gradient (straight-through estimator), quantised, thresholded, reversed."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sigmoid() * x  # no clamp needed

    @staticmethod
    def backward(ctx, grad):  # expect: AD507
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        return grad * (s + s * (1 - s))  # pseudo-gradient by design


torch.manual_seed(0)
first, second = nn.Linear(6, 12), nn.Linear(12, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.02)
for _ in range(12):
    x = torch.randn(32, 6)
    loss = (second(ClampedSpikeSTE.apply(first(x))) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
