# guards: AD216
"""Deep embedded clustering: the sharpened target distribution p is detached and its own entropy stays in the hand-written KL."""
import torch
from torch import nn
import torch.nn.functional as F


def student_t(z, centers):
    q = 1 / (1 + torch.cdist(z, centers).pow(2))
    return q / q.sum(1, keepdim=True)


def target_distribution(q):
    w = q ** 2 / q.sum(0)
    return (w / w.sum(1, keepdim=True)).detach()


torch.manual_seed(0)
blobs = 2 * torch.randn(3, 10)
data = torch.cat([b + 0.6 * torch.randn(80, 10) for b in blobs])
enc = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2))
dec = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 10))

pre = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
for _ in range(20):
    rec = F.mse_loss(dec(enc(data)), data)
    pre.zero_grad()
    rec.backward()
    pre.step()

with torch.no_grad():
    centers = nn.Parameter(enc(data)[[0, 80, 160]].clone())
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), centers], lr=5e-3)
for step in range(20):
    z = enc(data)
    q = student_t(z, centers)
    p = target_distribution(q)
    kl = (p * (p.log() - q.log())).sum(1).mean()
    loss = kl + 0.1 * F.mse_loss(dec(z), data)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 6 == 0:
        print(step, kl.item(), q.argmax(1).bincount(minlength=3).tolist())
