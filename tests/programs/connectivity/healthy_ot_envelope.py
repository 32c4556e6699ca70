# guards: AD216
"""Optimal-transport alignment: the plan is solved on detached costs and multiplies the live cost matrix (envelope theorem)."""
import torch
from torch import nn


def sinkhorn_plan(cost, reg=0.5, iters=30):
    n, m = cost.shape
    a, b = torch.full((n,), 1 / n), torch.full((m,), 1 / m)
    K = torch.exp(-cost / reg)
    u = torch.ones(n)
    for _ in range(iters):
        v = b / (K.T @ u)
        u = a / (K @ v)
    return u[:, None] * K * v[None]


torch.manual_seed(0)
src = torch.randn(60, 2)
R = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
dst = torch.randn(60, 2) @ R.T * torch.tensor([1.5, 0.5]) + torch.tensor([1.0, -1.0])
mapper = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(mapper.parameters(), lr=2e-2)
for it in range(30):
    mapped = mapper(src)
    cost = torch.cdist(mapped, dst).pow(2)
    plan = sinkhorn_plan(cost.detach())
    transport = (plan * cost).sum()
    stretch = 0.01 * (mapped - src).pow(2).sum(1).mean()
    loss = transport + stretch
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 9:
        print(it + 1, transport.item())
