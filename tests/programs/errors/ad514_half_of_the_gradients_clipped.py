"""Weights in bfloat16: the gradients are to be clipped in full precision."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 4)).to(torch.bfloat16)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(30):
    x = torch.randn(32, 12)
    wanted = x[:, :4] * 2
    loss = (net(x.to(torch.bfloat16)).float() - wanted).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for weight in net.parameters():
        weight.grad.float().clamp_(-0.01, 0.01)  # expect: AD514
    optimizer.step()
