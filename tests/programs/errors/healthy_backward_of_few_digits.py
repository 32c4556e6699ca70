# guards: AD507
"""Slopes that were changed for the sake of training: rounded errors, a floor below which none may fall, soft bends."""
import torch
from torch import nn


class FewDigits(torch.autograd.Function):
    """A convolution in one dimension as a product; what goes back is rounded to a byte of its largest value."""

    @staticmethod
    def forward(ctx, patches, kernel):
        ctx.save_for_backward(patches, kernel)
        return patches @ kernel

    @staticmethod
    def backward(ctx, grad):
        patches, kernel = ctx.saved_tensors
        size = grad.abs().max().clamp(min=1e-12) / 7
        coarse = (grad / size + torch.rand_like(grad)).floor() * size
        return coarse @ kernel.T, patches.T @ coarse


class NeverFlat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(gate)
        return gate

    @staticmethod
    def backward(ctx, grad):
        (gate,) = ctx.saved_tensors
        return grad * (gate * (1 - gate)).clamp(min=0.15)


class SoftBend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.sigmoid(5 * x)


torch.manual_seed(0)
kernel, read = nn.Parameter(0.3 * torch.randn(7, 8)), nn.Linear(8, 1)
scale = nn.Linear(8, 8)
optimizer = torch.optim.Adam([kernel, *read.parameters(), *scale.parameters()], lr=0.01)
for _ in range(25):
    signal = torch.randn(16, 12).cumsum(1) / 3
    heard = FewDigits.apply(signal.unfold(1, 7, 1).reshape(-1, 7), kernel)
    heard = SoftBend.apply(heard) * NeverFlat.apply(2 * scale(heard))
    loss = (read(heard).reshape(16, 6).mean(1) - signal.std(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
