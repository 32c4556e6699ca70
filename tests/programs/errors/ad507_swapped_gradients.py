"""A fused scale whose backward returns two gradients in the wrong order."""

import torch
from torch import nn
from torch.autograd import Function


class FusedScale(Function):
    @staticmethod
    def forward(ctx, x, gain, bias):
        ctx.save_for_backward(x, gain)
        return x * gain + bias

    @staticmethod
    def backward(ctx, g):  # expect: AD507
        x, gain = ctx.saved_tensors
        gx = g * gain
        ggain = (g * x).sum(0)
        gbias = g.sum(0)
        return gx, gbias, ggain


class Scale(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return FusedScale.apply(x, self.gain, self.bias)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), Scale(8), nn.ReLU(), nn.Linear(8, 2), Scale(2))
opt = torch.optim.SGD(net.parameters(), 0.05)
for _ in range(8):
    x = torch.randn(16, 4)
    y = (x[:, 0] * x[:, 1] > 0).long()
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
