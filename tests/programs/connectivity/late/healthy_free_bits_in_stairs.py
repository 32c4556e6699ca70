# guards: AD216
import torch
import torch.nn as nn
import torch.nn.functional as F
from types import SimpleNamespace as NS

# Free bits (Kingma et al. 2016), per latent dimension, with an allowance that goes up in stairs
# (first prune, then let the survivors carry what they like).
# max() is Python's own: below the allowance the dimension costs its allowance and nothing pulls at it.

cfg = NS(zdim=4, hidden=64, steps=180, batch=32, lr=1e-2, stairs=[(0, 0.05), (60, 0.25), (110, 1.2)])
torch.manual_seed(40)
factors = torch.randn(4000, 3)
W = torch.randn(3, 16)
pixels = (torch.sigmoid(2.0 * factors @ W) > torch.rand(4000, 16)).float()
train, test = pixels[:3500], pixels[3500:]

enc = nn.Sequential(nn.Linear(16, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 2 * cfg.zdim))
dec = nn.Sequential(nn.Linear(cfg.zdim, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 16))
optim = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()), lr=cfg.lr)


def forward(x):
    mean, logvar = enc(x).chunk(2, dim=1)
    z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
    rec = F.binary_cross_entropy_with_logits(dec(z), x, reduction="none").sum(1).mean()
    kl = (0.5 * (mean.square() + logvar.exp() - 1 - logvar)).mean(0)
    return rec, kl


for step in range(cfg.steps):
    free = [f for start, f in cfg.stairs if step >= start][-1]
    rec, kl = forward(train[torch.randint(0, len(train), (cfg.batch,))])
    loss = rec
    for j in range(cfg.zdim):
        loss = loss + max(kl[j], free)
    optim.zero_grad()
    loss.backward()
    optim.step()
    if step % 60 == 0 or step == cfg.steps - 1:
        with torch.no_grad():
            r, k = forward(test)
        print("step %4d  free %.2f  loss %.3f  test rec %.3f  kl/dim %s" %
              (step, free, loss.item(), r.item(), " ".join("%.2f" % v for v in k.tolist())))
