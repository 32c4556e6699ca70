# guards: AD211 AD209
"""Noisy student: labels of unlabelled rows are made by the pass that trains, dropout and all, every epoch anew."""
import torch
from torch import nn

torch.manual_seed(0)
x, free = torch.randn(80, 6), torch.randn(120, 6)
y = (x[:, :3].sum(1) > 0).long()
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)


def scores(rows):
    return net(rows)


for epoch in range(6):
    labels = [scores(rows).detach().argmax(1) for rows in free.split(30)]
    for low in range(0, 80, 20):
        loss = nn.functional.cross_entropy(scores(x[low : low + 20]), y[low : low + 20])
        jittered = free[30 * (low // 20) : 30 * (low // 20) + 30] + 0.1 * torch.randn(30, 6)
        loss = loss + 0.3 * nn.functional.cross_entropy(scores(jittered), labels[low // 20])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
