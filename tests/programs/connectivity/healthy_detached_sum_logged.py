# guards: AD216 AD219
"""Main and probe networks are trained apart; only the log adds (loss + probe_loss.detach()).item()."""
import logging
import sys

import torch
from torch import nn
from torch.nn import functional as F

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
log = logging.getLogger("train")

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 6))
decoder = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 14))
probe = nn.Linear(6, 2)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
probe_opt = torch.optim.SGD(probe.parameters(), lr=0.1)
centers = torch.randn(2, 14)

for step in range(36):
    y = torch.randint(0, 2, (64,))
    x = centers[y] + 0.5 * torch.randn(64, 14)
    z = encoder(x)
    loss = F.mse_loss(decoder(z), x) + 1e-3 * z.abs().sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

    probe_loss = F.cross_entropy(probe(z.detach()), y)
    probe_opt.zero_grad()
    probe_loss.backward()
    probe_opt.step()
    if step % 9 == 0:
        log.info("%d | total %.4f | recon %.4f", step, (loss + probe_loss.detach()).item(), loss.item())
