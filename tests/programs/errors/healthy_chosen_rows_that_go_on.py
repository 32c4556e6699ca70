# guards: AD514
"""Copies that are changed in place and used: named, returned, handed on, put back."""

import torch
from torch import nn


def standardised(values):
    values -= values.mean(0)
    values /= values.std(0) + 1e-6
    return values


def noisy(x, p):
    keep = torch.rand(len(x)) < p
    x[keep] = x[keep].add_(0.1 * torch.randn(int(keep.sum()), x.shape[1]))
    return x


class Buffer:
    def __init__(self):
        self.kept = []

    def add(self, rows):
        rows.clamp_(-3, 3)
        self.kept.append(rows)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
memory = Buffer()
for i in range(40):
    x = torch.randn(48, 5)
    memory.add(x[x[:, 0] > 0])
    late = memory.kept[-1][[0, 1, 2]].mul_(0.5)
    batch = torch.cat([standardised(x[torch.randperm(48)[:16]]), noisy(x.clone(), 0.5), late.abs_()])
    y = batch.sum(1, keepdim=True)
    print("largest", float(x[[1, 2]].abs_().max())) if i % 10 == 0 else None
    loss = nn.functional.mse_loss(net(batch), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
