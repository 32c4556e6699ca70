"""A cell written by hand that keeps its state between calls by `.data`; the loss of a whole sequence goes backward."""
import torch
from torch import nn

torch.manual_seed(0)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.i, self.r, self.o = nn.Linear(1, 20), nn.Linear(20, 20), nn.Linear(20, 1)

    def reset(self, n):
        self.h = torch.zeros(n, 20)

    def forward(self, x):
        h = torch.tanh(self.i(x) + self.r(self.h))
        self.h = h.data  # expect: AD202
        return self.o(h)


net = Cell()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for it in range(60):
    seq = torch.randn(16, 8, 1)
    net.reset(16)
    outs = [net(seq[:, t]) for t in range(8)]
    loss = nn.functional.mse_loss(torch.stack(outs, 1)[:, 3:], seq[:, :5])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
