"""A learned threshold compared with the scores: only a comparison sees it."""

import torch
from torch import nn


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(5, 8)
        self.threshold = nn.Parameter(torch.zeros(8))
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        h = self.lin(x)
        h = h * (h > self.threshold).to(h.dtype)  # expect: AD202
        return self.out(h)


torch.manual_seed(0)
net = Sparse()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(8):
    x = torch.randn(16, 5)
    loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
