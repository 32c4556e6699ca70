"""A checkpointed segment that counts its calls, so that the recomputation runs at another temperature."""

import torch
import torch.utils.checkpoint as cp
from torch import nn


class Annealed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        temperature = 1.0 + 0.5 * self.calls
        return torch.tanh(self.fc(x) / temperature)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(6, 10)
        self.mid = Annealed(10)
        self.out = nn.Linear(10, 2)

    def forward(self, x):
        h = self.inp(x)
        h = cp.checkpoint(self.mid, h, use_reentrant=False)  # expect: AD510
        return self.out(h)


torch.manual_seed(0)
m = Model()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(20, 6)
    loss = nn.functional.cross_entropy(m(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
