# guards: AD211 AD209
"""Dropout that stays on: held-out samples are asked for ten times in a row, through the method that trains."""
import torch
from torch import nn

torch.manual_seed(0)
x, pool = torch.randn(90, 4), torch.randn(30, 4)
y = x.prod(1, keepdim=True)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)


def said(rows):
    return net(rows)


for epoch in range(6):
    for rows in torch.randperm(90).split(15):
        loss = nn.functional.mse_loss(said(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    answers = torch.stack([said(pool).detach() for _ in range(10)])
    surprise = (answers - pool.prod(1, keepdim=True)).square().mean().item()
