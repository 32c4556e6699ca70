"""Metric MDS: place cities on a plane so that distances match a table."""

import torch

torch.manual_seed(28)
n = 30
true = torch.rand(n, 2) * 10
target = (true[:, None] - true[None]).pow(2).sum(-1).sqrt()


def pairwise(x):
    diff = x[:, None, :] - x[None, :, :]
    return diff.square().sum(-1)


def stress(x, table, grid):
    d = pairwise(x)
    snapped = d.detach().lt(grid)
    d = torch.sqrt(d)  # expect: AD402
    off = ~torch.eye(len(x), dtype=torch.bool)
    return ((d - table)[off & ~snapped] ** 2).mean()


pos = torch.randn(n, 2, requires_grad=True)
opt = torch.optim.Adam([pos], lr=0.1)
for it in range(200):
    s = stress(pos, target, 1e-3)
    opt.zero_grad()
    s.backward()
    opt.step()
    if it % 20 == 0:
        print(it, round(s.item(), 4))

with torch.no_grad():
    print("largest coordinate", pos.abs().max().item())
    order = target.mean(1).argsort()
    print("most central", order[:3].tolist())
    print("most remote", order[-3:].tolist())
    worst = (pairwise(pos).sqrt() - target).abs().max().item()
    print("worst distance error", worst)
