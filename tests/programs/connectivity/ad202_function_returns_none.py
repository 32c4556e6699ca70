"""Binary codes with a hand-made autograd function."""

import torch
from torch import nn


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        return torch.where(x > 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        return None, None


class HashNet(nn.Module):
    def __init__(self, bits=8):
        super().__init__()
        self.project = nn.Linear(10, bits)
        self.decode = nn.Linear(bits, 10)

    def code(self, x):
        return Binarize.apply(self.project(x), 1.0)  # expect: AD202

    def forward(self, x):
        return self.decode(self.code(x))


torch.manual_seed(0)
net = HashNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(8):
    x = torch.randn(32, 10)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
