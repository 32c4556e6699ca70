# guards: AD206
"""Prices of flats: to save traffic, only a tenth of each gradient is used; the rest waits until it has grown."""
import torch
from torch import nn

torch.manual_seed(9)
net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
waiting = {p: torch.zeros_like(p) for p in net.parameters()}
optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.8, weight_decay=1e-4)
for _ in range(50):
    flat = torch.randn(96, 8)
    price = flat[:, :1] * 2 + flat[:, 1:2].sin() - flat[:, 2:3] * flat[:, 3:4]
    loss = nn.functional.mse_loss(net(flat), price)
    optimizer.zero_grad()
    loss.backward()
    for p, kept in waiting.items():
        p.grad.add_(kept)
        size = p.grad.abs().flatten()
        edge = size.topk(max(1, len(size) // 10)).values[-1]
        sent = p.grad.abs() >= edge
        kept.copy_(p.grad.masked_fill(sent, 0.0))
        p.grad.mul_(sent)
    optimizer.step()
