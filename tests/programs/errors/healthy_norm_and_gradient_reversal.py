# guards: AD507
"""A hand-written RMS norm and a gradient reversal layer."""

import torch
from torch import nn


class RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, eps):
        inv = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, w, inv)
        ctx.eps = eps
        return x * inv * w

    @staticmethod
    def backward(ctx, g):
        x, w, inv = ctx.saved_tensors
        gx = gw = None
        if ctx.needs_input_grad[0]:
            gh = g * w
            gx = inv * gh - x * inv**3 * (gh * x).mean(-1, keepdim=True)
        if ctx.needs_input_grad[1]:
            gw = (g * x * inv).sum(tuple(range(g.dim() - 1)))
        return gx, gw, None


class Reverse(torch.autograd.Function):
    """Gradient reversal: minus the gradient, on purpose."""

    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


torch.manual_seed(0)
w = nn.Parameter(torch.ones(12))
f = nn.Linear(5, 12)
cls = nn.Linear(12, 2)
dom = nn.Linear(12, 2)
opt = torch.optim.Adam([w, *f.parameters(), *cls.parameters(), *dom.parameters()], 1e-3)
for _it in range(6):
    x = torch.randn(14, 5)
    h = RmsNorm.apply(f(x), w, 1e-6)
    loss = nn.functional.cross_entropy(cls(h), (x[:, 0] > 0).long())
    loss = loss + nn.functional.cross_entropy(dom(Reverse.apply(h, 0.3)), (x[:, 1] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
