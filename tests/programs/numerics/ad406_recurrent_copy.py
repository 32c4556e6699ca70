"""Vanilla recurrent net written by hand, ReLU state, copy-first-symbol task."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(41)
V, T, H = 6, 40, 64


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.x2h = nn.Linear(V, H)
        self.h2h = nn.Linear(H, H, bias=False)
        nn.init.normal_(self.h2h.weight, std=1.75 / H**0.5)

    def forward(self, x, h):
        return F.relu(self.x2h(x) + self.h2h(h))  # expect: AD406


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.read = nn.Linear(H, V)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), H)
        for t in range(seq.size(1)):
            h = self.cell(seq[:, t], h)
        return self.read(h)


def batch(n=32):
    s = torch.randint(0, V, (n, T))
    return F.one_hot(s, V).float(), s[:, 0]


net = Net()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-4)
for step in range(80):
    x, y = batch()
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 8 == 0:
        print(step, f"loss {loss.item():.4g}", f"recurrent grad {net.cell.h2h.weight.grad.norm():.3g}")
