# guards: AD507
"""Custom functions that write to inputs: marked as dirty, used up, put back, or with nothing to send past them."""

import torch
from torch import nn


class LeakyInPlace(torch.autograd.Function):
    """Marked: the input is the result, and may be used under either name."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x < 0)
        x.mul_(torch.where(x < 0, 0.1, 1.0))
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (negative,) = ctx.saved_tensors
        return torch.where(negative, 0.1 * grad, grad)


class Saturate(torch.autograd.Function):
    """Not marked: what else works on the input has done so before."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.abs() <= 1)
        return x.clamp_(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside


class AddPositions(torch.autograd.Function):
    """Not marked and used again: of a constant that was added, the gradient is the same by either way."""

    @staticmethod
    def forward(ctx, x, positions):
        x += positions
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class SafeNorm(torch.autograd.Function):
    """Scaled against overflow, and scaled back before anybody looks."""

    @staticmethod
    def forward(ctx, x):
        largest = x.abs().amax(-1, keepdim=True) + 1.0
        norm = x.div_(largest).norm(dim=-1, keepdim=True) * largest
        x.mul_(largest)
        ctx.save_for_backward(x.clone(), norm)
        return norm

    @staticmethod
    def backward(ctx, grad):
        x, norm = ctx.saved_tensors
        return grad * x / norm


class HalveGate(torch.autograd.Function):
    """Changes one half of a projection: the other half is used afterwards, and was not touched."""

    @staticmethod
    def forward(ctx, gate):
        return gate.mul_(0.5).clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * 0.5


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.head = nn.Linear(width, 1)
        self.register_buffer("positions", torch.linspace(-1, 1, width))

    def forward(self, series):
        h = self.embed(series)
        h = h + torch.sin(AddPositions.apply(h, self.positions))
        x = self.first(h)
        y = LeakyInPlace.apply(x)
        x = x + torch.tanh(y)
        both = self.second(x)
        gate = HalveGate.apply(both[..., : x.shape[-1]])
        mixed = x + torch.sigmoid(gate) * both[..., x.shape[-1] :]
        mixed = mixed / (1 + SafeNorm.apply(mixed)) + 0.1 * mixed
        score = 2.0 * self.head(mixed)
        raised = score + 0.5
        return Saturate.apply(score) + 0.1 * raised


torch.manual_seed(1)
net = Net(10)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(20):
    series = torch.randn(24, 3, 4)
    loss = nn.functional.mse_loss(net(series), torch.tanh(series.sum(-1, keepdim=True)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
