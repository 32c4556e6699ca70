"""A regression whose loop writes the gradient norm down and then clears, one line too early."""

import torch
from torch import nn

torch.manual_seed(4)
net = nn.Sequential(nn.Linear(5, 24), nn.GELU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
table = torch.randn(400, 5)
target = table.prod(1, keepdim=True)
norms = []
for epoch in range(6):
    for rows in torch.randperm(400).split(80):
        loss = nn.functional.mse_loss(net(table[rows]), target[rows])
        loss.backward()
        norms.append(torch.stack([p.grad.norm() for p in net.parameters()]).norm().item())
        with torch.no_grad():
            net[0].weight.clamp_(-2, 2)
        optimizer.zero_grad()  # expect: AD102
        optimizer.step()
    print(epoch, loss.item(), norms[-1])
