# guards: AD627
from itertools import chain

import torch
import torch.nn.functional as F
from torch import nn


def ntxent_interleaved(z, t=0.2):
    """rows 0,1 are a pair, rows 2,3 are a pair..."""
    z = F.normalize(z, dim=1)
    logits = torch.mm(z, z.t()).div(t)
    logits = logits.masked_fill(torch.eye(len(z)).bool(), -1e9)
    target = torch.arange(len(z))
    target[0::2] += 1
    target[1::2] -= 1
    return F.cross_entropy(logits, target)


def supcon(z, y, t=0.2):
    z = F.normalize(z, dim=1)
    logits = z @ z.T / t
    off = ~torch.eye(len(z), dtype=torch.bool)
    same = (y[:, None] == y[None, :]) & off
    log_p = logits - torch.logsumexp(logits.masked_fill(~off, float("-inf")), dim=1, keepdim=True)
    return -((log_p * same).sum(1) / same.sum(1).clamp(min=1)).mean()


def clip_loss(a, b, scale):
    logits = scale.exp() * F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T
    labels = torch.arange(len(a))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


torch.manual_seed(5)
centers = torch.randn(6, 20)
enc = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 24))
proj = nn.ModuleDict({name: nn.Linear(24, 12) for name in ("self", "sup", "left", "right")})
scale = nn.Parameter(torch.tensor(2.0))
opt = torch.optim.AdamW(chain(enc.parameters(), proj.parameters(), [scale]), lr=2e-3)
for step in range(50):
    y = torch.randint(0, 6, (32,))
    x = centers[y] + torch.randn(32, 20)
    both = torch.repeat_interleave(x, 2, dim=0)
    both = both * (torch.rand_like(both) > 0.2) + 0.3 * torch.randn_like(both)
    h = enc(both)
    loss = ntxent_interleaved(proj["self"](h)) + 0.5 * supcon(proj["sup"](h), y.repeat_interleave(2))
    loss = loss + clip_loss(proj["left"](h[::2]), proj["right"](h[1::2]), scale)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step:3d} {loss.item():.3f}")
