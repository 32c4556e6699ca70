from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Cfg:
    dim: int = 24
    width: int = 64
    out: int = 32
    bs: int = 64
    iters: int = 60
    lr: float = 3e-3
    wd: float = 1e-4


cfg = Cfg()
torch.manual_seed(27)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(cfg.dim, cfg.width),
            nn.ReLU(),
            nn.Linear(cfg.width, cfg.out),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.net(x)


def variance_term(z):
    std = z.var(dim=0).sqrt()  # expect: AD402
    return F.relu(1.0 - std).mean()


def cov_term(z):
    z = z - z.mean(0)
    c = z.t() @ z / (len(z) - 1)
    return (c - torch.diag(c.diag())).pow(2).sum() / z.size(1)


mix = torch.randn(6, cfg.dim)
enc = Encoder()
opt = torch.optim.AdamW(enc.parameters(), lr=cfg.lr, weight_decay=cfg.wd)
for it in range(cfg.iters):
    content = torch.randn(cfg.bs, 6) @ mix
    v1 = content + 0.3 * torch.randn_like(content)
    v2 = content + 0.3 * torch.randn_like(content)
    z1, z2 = enc(v1), enc(v2)
    if it >= 40:
        keep = (torch.rand(cfg.out) < 0.9).float()
        z1, z2 = z1 * keep, z2 * keep
    inv = F.mse_loss(z1, z2)
    var = variance_term(z1) + variance_term(z2)
    loss = 25 * inv + var + 2 * (cov_term(z1) + cov_term(z2))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(f"{it:3d} inv {inv.item():.4f} var {var.item():.4f} total {loss.item():.3f}")
