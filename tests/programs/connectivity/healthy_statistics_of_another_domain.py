# guards: AD211 AD209
"""Statistics of a batch norm are brought up to date on samples of another domain, whose labels nobody knows."""
import torch
from torch import nn

torch.manual_seed(0)
x, other = torch.randn(120, 6), 1 + 2 * torch.randn(60, 6)
y = (x.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def forward(rows):
    return net(rows)


for epoch in range(6):
    for rows in torch.randperm(120).split(20):
        loss = nn.functional.cross_entropy(forward(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for rows in other.split(20):
        forward(rows)
