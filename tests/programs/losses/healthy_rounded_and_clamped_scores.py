# guards: AD627
"""Scores that are rounded, clamped or saturated have many equals."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
net = nn.Linear(10, 6)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
W = torch.randn(10, 6)
for s in range(40):
    x = torch.randn(64, 10); y = (x @ W).argmax(1)
    z = net(x)
    q = z + ((z * 2).round() / 2 - z).detach()
    c = 3 * torch.tanh(10 * z)
    loss = F.cross_entropy(q, y) + F.cross_entropy(z.clamp(-1, 1), y) + F.cross_entropy(c, y)
    opt.zero_grad(); loss.backward(); opt.step()
