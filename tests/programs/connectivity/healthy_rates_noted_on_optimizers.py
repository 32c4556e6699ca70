# guards: AD222
"""Rates written down on optimizers: by a class of the program that steps by its own, by a scheduler that reads what it
noted, and by one that notes what the groups hold."""

import torch
from torch import nn


class Plain(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})
        self.lr = lr

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                weight.sub_(self.lr * weight.grad)


def cosine(optimizer, step, total=24):
    share = 0.5 * (1 + torch.cos(torch.tensor(step / total * torch.pi)).item())
    for group in optimizer.param_groups:
        group["lr"] = optimizer.lr * share


torch.manual_seed(0)
trunk, head = nn.Sequential(nn.Linear(6, 24), nn.Tanh()), nn.Linear(24, 3)
plain = Plain(head.parameters(), 0.05)
adam = torch.optim.Adam(trunk.parameters(), lr=1e-3)
adam.lr = 2e-3
noted = torch.optim.SGD([nn.Parameter(torch.zeros(3))], lr=0.1)
for step in range(24):
    cosine(adam, step)
    plain.lr = 0.05 * 0.95**step
    noted.weight_decay = noted.param_groups[0]["weight_decay"]
    x = torch.randn(32, 6)
    bias = noted.param_groups[0]["params"][0]
    loss = nn.functional.cross_entropy(head(trunk(x)) + bias, x[:, :3].argmax(1))
    for optimizer in (plain, adam, noted):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (plain, adam, noted):
        optimizer.step()
