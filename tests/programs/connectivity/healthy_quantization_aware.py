# guards: AD202
"""Quantisation-aware training with a straight-through `round`."""
import torch
from torch import nn
from torch.nn import functional as F


class QuantLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits=4):
        super().__init__(n_in, n_out, bias=False)
        self.levels = 2 ** (bits - 1) - 1

    def quantize(self, w):
        scale = w.detach().abs().max() / self.levels
        q = torch.round(w / scale) * scale
        return w + (q - w).detach()

    def forward(self, x):
        return F.linear(x, self.quantize(self.weight))


torch.manual_seed(0)
net = nn.Sequential(QuantLinear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
true = torch.randn(8, 3)
for step in range(50):
    x = torch.randn(64, 8)
    loss = F.cross_entropy(net(x), (x @ true).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item())
