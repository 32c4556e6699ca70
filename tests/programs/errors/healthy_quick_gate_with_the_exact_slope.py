# guards: AD507
"""A fast stand-in for GELU in the forward, as CLIP has it, with the slope of the exact one."""

import math

import torch
from torch import nn


class QuickGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(1.702 * x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        below = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        return gradient * (below + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(QuickGate.apply(self.up(self.norm(x))))


torch.manual_seed(11)
model = nn.Sequential(nn.Linear(5, 16), Block(16), Block(16), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for _ in range(25):
    x = torch.randn(48, 5)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long() + (x[:, 1] > 0.4).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
