"""Accumulated training whose linear decay is made for fewer epochs than are run, in the manner of a paper's script."""

import math

import torch
import torch.nn.functional as F


class Decay(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup, total):
        self.warmup, self.total = warmup, total
        super().__init__(optimizer)  # <- AD117

    def get_lr(self):
        t = self.last_epoch
        scale = (t + 1) / self.warmup if t < self.warmup else (self.total - t) / (self.total - self.warmup)
        return [base * scale for base in self.base_lrs]


def make_net():
    return torch.nn.Sequential(torch.nn.Linear(5, 24), torch.nn.Tanh(), torch.nn.Linear(24, 2))


torch.manual_seed(3)
data = torch.randn(128, 5)
goal = torch.stack([data[:, 0] * data[:, 1], data[:, 2].sin()], 1)
net = make_net()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
epochs, polish, every = 12, 3, 2
per_epoch = math.ceil(128 / 32 / every)
decay = Decay(opt, 6, epochs * per_epoch)
for epoch in range(epochs + polish):
    for k, rows in enumerate(torch.randperm(128).split(32)):
        (F.mse_loss(net(data[rows]), goal[rows]) / every).backward()
        if (k + 1) % every == 0:
            opt.step()
            decay.step()
            opt.zero_grad()
    print(epoch, f"{F.mse_loss(net(data), goal).item():.4f}")
