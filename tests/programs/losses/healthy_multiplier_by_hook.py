# guards: AD634
"""Constrained fit: minimise the error s.t. norm and fairness gaps; multipliers ascend by a gradient hook that flips the sign."""
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
raw = nn.Parameter(torch.tensor([0.0, 0.0]))
raw.register_hook(lambda g: -g)
opt = torch.optim.Adam([{"params": net.parameters(), "lr": 3e-3}, {"params": [raw], "lr": 2e-2}])
limits = torch.tensor([0.05, 50.0])                 # the second constraint is slack from the first step: its multiplier dies out
for step in range(300):
    x = torch.randn(128, 5)
    group = x[:, 0] > 0
    y = (x[:, 1] + 0.8 * group.float() + 0.1 * torch.randn(128)).unsqueeze(1)
    out = net(x)
    fit = F.mse_loss(out, y)
    gap = (out[group].mean() - out[~group].mean()).abs()
    size = sum(p.square().sum() for p in net.parameters())
    g = torch.stack([gap, size]) - limits
    loss = fit + (F.softplus(raw) * g).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0 or step == 299:
        print(step, f"fit {fit.item():.3f} gap {gap.item():.3f} size {size.item():.1f} lambda {F.softplus(raw).tolist()}")
