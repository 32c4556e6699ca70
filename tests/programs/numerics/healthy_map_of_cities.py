# guards: AD402
"""Metric MDS with upper-triangle distances, embedded by a small optimiser loop."""

import torch

torch.manual_seed(29)
n = 30
true = torch.rand(n, 2) * 10
iu = torch.triu_indices(n, n, 1)
target = (true[iu[0]] - true[iu[1]]).norm(dim=-1)


def stress(x):
    d = (x[iu[0]] - x[iu[1]]).square().sum(-1)
    return ((torch.sqrt(d) - target) ** 2).mean()


best = None
for restart in range(3):
    pos = (torch.randn(n, 2) * 1e-2).requires_grad_()
    opt = torch.optim.Adam([pos], lr=0.2)
    for it in range(150):
        s = stress(pos)
        opt.zero_grad()
        s.backward()
        opt.step()
        if it % 30 == 0:
            print(restart, it, round(s.item(), 4))
    if best is None or s.item() < best:
        best = s.item()
print("best stress", best)
assert best < 5

with torch.no_grad():
    full = torch.cdist(pos, pos)
    print("diagonal", full.diag().abs().max().item())
    for i in range(5):
        near = full[i].argsort()[1:4].tolist()
        print("city", i, "is near", near)
