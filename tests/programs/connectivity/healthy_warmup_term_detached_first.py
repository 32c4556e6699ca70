# guards: AD216
"""Curriculum in which the auxiliary term is shown detached for a warm-up phase and trained afterwards."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
WARMUP = 12
W = torch.randn(10, 4)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
cls = nn.Linear(32, 4)
opt = torch.optim.Adam([*enc.parameters(), *cls.parameters()], lr=5e-3)

for step in range(36):
    x = torch.randn(64, 10)
    y = (x @ W).argmax(1)
    h = enc(x)
    main_loss = F.cross_entropy(cls(h), y)
    h2 = enc(x + 0.1 * torch.randn_like(x))
    consistency = F.mse_loss(cls(h2), cls(h))
    if step < WARMUP:
        consistency = consistency.detach()
    loss = main_loss + 0.5 * consistency
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 9 == 0:
        print(step, loss.item(), consistency.item())
