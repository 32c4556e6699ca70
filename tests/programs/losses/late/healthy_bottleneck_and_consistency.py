# guards: AD628
"""Divergences and distances that come near zero, as they may."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
body, head = nn.Sequential(nn.Linear(10, 32), nn.ReLU()), nn.Linear(4, 3)
stats, teacher = nn.Linear(32, 8), nn.Linear(10, 16)
student = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
opt = torch.optim.Adam([p for m in (body, head, stats, student) for p in m.parameters()], lr=3e-3)
for step in range(320):
    x = torch.randn(48, 10)
    y = x[:, :3].argmax(1)
    mu, logvar = stats(body(x)).chunk(2, 1)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    # the information bottleneck: a loss for each sample, and a divergence for each
    rate = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
    bottleneck = F.cross_entropy(head(z), y) + rate
    # distances that are to vanish, beside a mean
    said, wanted = student(x), teacher(x).detach()
    close = (said - wanted).square().sum(1).mean()
    loss = bottleneck + close + F.mse_loss(said, wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, loss.item(), rate.item())
