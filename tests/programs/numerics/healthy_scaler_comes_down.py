# guards: AD404 AD107
"""Mixed precision on CPU with a gradient scaler."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(35)
W = torch.randn(20, 5)


def batch(n=64):
    x = torch.randn(n, 20)
    return x, (x @ W + 0.3 * torch.randn(n, 5)).argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(20, 64)
        self.b = nn.Linear(64, 64)
        self.c = nn.Linear(64, 5)

    def forward(self, x):
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=40)
skipped = 0
for step in range(200):
    x, y = batch()
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
    loss = F.cross_entropy(out.float(), y)
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    skipped += scaler.get_scale() < before
    if step % 20 == 0:
        acc = (out.argmax(1) == y).float().mean().item()
        print(f"{step:3d} loss {loss.item():.4f} acc {acc:.2f} scale {scaler.get_scale():.0f} skipped {skipped}")
