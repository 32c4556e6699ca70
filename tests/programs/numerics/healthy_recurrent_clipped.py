# guards: AD406
"""Vanilla recurrent net by hand; add-up task."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
T, H = 24, 48


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.x2h = nn.Linear(1, H)
        self.h2h = nn.Linear(H, H, bias=False)
        nn.init.orthogonal_(self.h2h.weight, gain=1.05)

    def forward(self, x, h):
        return F.relu(self.x2h(x) + self.h2h(h))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.read = nn.Linear(H, 1)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), H)
        for t in range(seq.size(1)):
            h = self.cell(seq[:, t], h)
        return self.read(h).squeeze(-1)


def batch(n=32):
    s = torch.rand(n, T, 1)
    return s, s.sum((1, 2))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(150):
    x, y = batch()
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 15 == 0:
        print(step, f"loss {loss.item():.4f} norm before clipping {norm.item():.2f}")
