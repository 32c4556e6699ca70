# guards: AD220
"""Metric learning with a hand-made temperature leaf that is given to the optimizer in a group of its own and clamped after steps."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
embed = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 8))
proxies = torch.randn(5, 8).requires_grad_()
log_t = torch.full((), -1.0, requires_grad=True)
groups = [
    {"params": list(embed.parameters()), "weight_decay": 1e-4},
    {"params": [proxies, log_t], "weight_decay": 0.0, "lr": 2e-2},
]
optimizer = torch.optim.AdamW(groups, lr=5e-3)
centers = torch.randn(5, 14)
for step in range(30):
    y = torch.randint(0, 5, (64,))
    z = F.normalize(embed(centers[y] + 0.8 * torch.randn(64, 14)), dim=1)
    logits = z @ F.normalize(proxies, dim=1).T / log_t.exp()
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        log_t.clamp_(-4.6, 0.0)
    if step % 10 == 9:
        print(step + 1, loss.item(), "T", log_t.exp().item())
