"""Norm of difference that is zero for identical pairs."""

import torch
from torch import nn


class Triplet(nn.Module):
    def forward(self, a, p, n):
        dp = torch.linalg.vector_norm(a - p, dim=1)
        dn = (a - n).pow(2).sum(1).pow(0.5)  # expect: AD402
        return (dp - dn + 1).relu().mean()


torch.manual_seed(0)
net, crit = nn.Linear(5, 3), Triplet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(6):
    x = torch.randn(8, 5)
    other = x[torch.randperm(8)]
    other[0] = x[0]
    e, f = net(x), net(other)
    loss = crit(e, net(x + 0.1 * torch.randn_like(x)), f)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
