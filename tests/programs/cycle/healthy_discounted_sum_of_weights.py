# guards: AD121
"""A sum of weights, discounted by 0.9 in each step, beside the sum of the discounts that it is divided by."""

import copy

import torch
from torch import nn


class Discounted:
    def __init__(self, module, discount=0.9):
        self.discount, self.count = discount, 0.0
        self.sums = [torch.zeros_like(weights) for weights in module.parameters()]

    @torch.no_grad()
    def update(self, module):
        self.count = self.discount * self.count + 1
        for total, weights in zip(self.sums, module.parameters()):
            total.mul_(self.discount).add_(weights)

    @torch.no_grad()
    def write_to(self, module):
        for weights, total in zip(module.parameters(), self.sums):
            weights.copy_(total / self.count)
        return module


torch.manual_seed(2)
net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
smooth = copy.deepcopy(net)
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
sums = Discounted(net)
held_out = torch.randn(128, 4)
for step in range(60):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1] * x[:, 1:2] + 0.3 * torch.randn(32, 1))
    sgd.zero_grad()
    loss.backward()
    sgd.step()
    sums.update(net)
    if step % 20 == 19:
        with torch.no_grad():
            print(step, (sums.write_to(smooth)(held_out) - held_out[:, :1] * held_out[:, 1:2]).pow(2).mean().item())
