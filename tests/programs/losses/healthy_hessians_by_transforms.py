# guards: AD639
"""A Monge-Ampere residual, from whole Hessians of each point."""

import torch
from torch import nn
from torch.func import functional_call, hessian, vmap

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(20):
    points = torch.rand(24, 2)
    weights = dict(net.named_parameters())
    bends = vmap(hessian(lambda x: functional_call(net, weights, (x,)).squeeze(-1)))(points)
    loss = (torch.linalg.det(bends + torch.eye(2)) - 1.5).square().mean() + net(points).mean().square()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
