# guards: AD628
import argparse

import torch
from torch import distributions as D
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--beta", type=float, default=4.0)
p.add_argument("--capacity", type=float, default=5.0)
p.add_argument("--steps", type=int, default=60)
opt = p.parse_args()


class BetaVAE(nn.Module):
    def __init__(self, d=30, z=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.SiLU(), nn.Linear(32, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.SiLU(), nn.Linear(32, d))

    def forward(self, x):
        loc, scale = self.enc(x).chunk(2, -1)
        q = D.Independent(D.Normal(loc, nn.functional.softplus(scale) + 1e-4), 1)
        return q, self.dec(q.rsample())


torch.manual_seed(0)
model = BetaVAE()
prior = D.Independent(D.Normal(torch.zeros(6), torch.ones(6)), 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mixing = torch.randn(5, 30)
for step in range(opt.steps):
    x = torch.sigmoid(torch.randn(64, 5) @ mixing)
    q, logits = model(x)
    recon = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") / x.shape[0]
    kl = D.kl_divergence(q, prior).mean()
    c = min(opt.capacity, opt.capacity * step / 30)
    if step < opt.steps // 2:
        loss = recon + opt.beta * (kl - c).abs()
    else:
        elbo = -nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1) - D.kl_divergence(q, prior)
        loss = -elbo.sum() / len(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, recon.item(), kl.item())
