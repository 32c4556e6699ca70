"""A rate that is set by building the optimizer again, in each step once the warm-up is over."""

import torch
from torch import nn


def make(parameters, step):
    return torch.optim.Adam(parameters, lr=5e-3, betas=(0.9, 0.99))


torch.manual_seed(3)
net = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 2))
x = torch.randn(320, 6)
labels = (x[:, 0] * x[:, 1] > 0).long()
optimizer = make(net.parameters(), 0)
step = 0
for epoch in range(8):
    for rows in torch.randperm(320).split(32):
        if step > 60:
            optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)  # expect: AD109
        loss = nn.functional.cross_entropy(net(x[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(epoch, loss.item())
