"""Lookahead whose slow weights are copied back after every step and never move."""

import torch
from torch import nn


class Lookahead:
    def __init__(self, base, k=3, alpha=0.5):
        self.base, self.k, self.alpha, self.count = base, k, alpha, 0
        self.slow = [[p.detach().clone() for p in g["params"]] for g in base.param_groups]

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def step(self):
        self.base.step()  # expect: AD111
        self.count += 1
        for g, slow in zip(self.base.param_groups, self.slow):
            for p, s in zip(g["params"], slow):
                if self.count % self.k == 0:
                    s.lerp_(p, self.alpha * 0)
                p.copy_(s)


torch.manual_seed(0)
model = nn.GRU(3, 10, batch_first=True)
readout = nn.Linear(10, 1)
opt = Lookahead(torch.optim.SGD([*model.parameters(), *readout.parameters()], lr=0.05))
for i in range(9):
    x = torch.randn(8, 7, 3)
    out, h = model(x)
    loss = (readout(out[:, -1]) - x.sum((1, 2), keepdim=False)[:, None]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
