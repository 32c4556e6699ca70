# guards: AD507
"""Backwards that are no derivatives and are meant so, without a word that says it."""
import torch
from torch import nn


class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(-0.5, 0.5)

    @staticmethod
    def backward(ctx, g):
        return g


class B(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        return torch.floor(x * n) / n

    @staticmethod
    def backward(ctx, g):
        return g, None


class C(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, low):
        ctx.save_for_backward(x, low)
        return torch.maximum(x, low)

    @staticmethod
    def backward(ctx, g):
        x, low = ctx.saved_tensors
        return g * ((x >= low) | (g < 0)), None


class D(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        values = x.abs().topk(k, dim=1).values[:, -1:]
        return x * (x.abs() >= values)

    @staticmethod
    def backward(ctx, g):
        return g, None


torch.manual_seed(0)
body, head = nn.Linear(8, 16), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
low = torch.full((1,), -0.4)
for _ in range(12):
    x = torch.randn(32, 8)
    h = body(x)
    h = A.apply(h) + B.apply(h, 8.0) + C.apply(h, low) + D.apply(h, 4)
    loss = nn.functional.mse_loss(head(h), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
