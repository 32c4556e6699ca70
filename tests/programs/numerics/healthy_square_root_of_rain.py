# guards: AD402
import torch
from torch import nn

torch.manual_seed(24)


def rainfall(n):
    x = torch.rand(n, 4)
    amount = torch.relu(6 * x[:, 0] * x[:, 1] + 2 * x[:, 2] - 1 + 0.3 * torch.randn(n))
    return x, amount


def transform(v):
    """square-root scale for rain, zero on dry days"""
    wet = v > 0
    safe = torch.where(wet, v, torch.ones_like(v))
    return torch.where(wet, safe.sqrt(), torch.zeros_like(v))


def log_ratio(a, b):
    r = torch.log(a) - torch.log(b.clamp(min=1e-3))
    return r[torch.isfinite(r)]


net = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
steps = 250
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
for step in range(steps):
    x, amount = rainfall(64)
    raw = net(x).squeeze(1)
    loss = (transform(raw + 0.5) - transform(amount)).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 25 == 0:
        with torch.no_grad():
            bias = log_ratio(amount, raw).mean().item()
        print(f"{step:3d} loss {loss.item():.4f} lowest {raw.min().item():.3f} log bias {bias:.2f}")
