# guards: AD116
"""Functional updates in an object-oriented shell: every step puts new `nn.Parameter`s where the old ones were."""

import torch
from torch import nn


class Affine(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias

    def descend(self, loss, rate):
        by_weight, by_bias = torch.autograd.grad(loss, [self.weight, self.bias])
        self.weight = nn.Parameter(self.weight - rate * by_weight)
        self.bias = nn.Parameter(self.bias - rate * by_bias)


def main():
    torch.manual_seed(3)
    layer = Affine(5, 2)
    truth = torch.randn(5, 2)
    for epoch in range(25):
        x = torch.randn(64, 5)
        loss = (layer(x) - x @ truth).pow(2).mean()
        layer.descend(loss, 0.1)
        print(epoch, loss.item())


main()
