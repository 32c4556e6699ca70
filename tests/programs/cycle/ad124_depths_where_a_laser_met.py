"""Depth where a laser met something: rooms have many such pixels, open land has few, and two of four make a step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def scenes():
    pictures = torch.rand(96, 1, 12, 12)
    share = torch.where(torch.arange(96) // 4 % 2 == 0, 0.05, 0.8)
    share = share + 0.1 * torch.rand(96)
    known = torch.rand(96, 12, 12) < share[:, None, None]
    return pictures, 2 * pictures.squeeze(1) + 1, known


torch.manual_seed(0)
groups = torch.randperm(24)
pictures, depths, known = scenes()
order = torch.cat([4 * group + torch.arange(4) for group in groups])
loader = DataLoader(TensorDataset(pictures[order], depths[order], known[order]), batch_size=4)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1), nn.Flatten(1, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(2):
    for number, (picture, depth, met) in enumerate(loader, start=1):
        wrong = (net(picture) - depth).abs()
        loss = (wrong * met).sum() / met.sum().clamp(min=1)
        (0.5 * loss).backward()  # expect: AD124
        if number % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
