"""Accumulation under a GradScaler without dividing."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
accumulate = 4
opt.zero_grad()
for i in range(120):
    x = torch.randn(8, 20)
    y = x[:, :5].argmax(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), y)
    scaler.scale(loss).backward()  # expect: AD114
    if (i + 1) % accumulate == 0:
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
