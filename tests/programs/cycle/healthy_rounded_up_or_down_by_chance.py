# guards: AD111
"""Grains of three kinds of sand: weights of float32 on the grid of bfloat16, rounded up or down as chance has it."""
import torch
from torch import nn


def drawn(values):
    bits = values.view(torch.int32)
    return ((bits + torch.randint_like(bits, 0, 1 << 16)) & -65536).view(torch.float32)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
for _ in range(60):
    grain = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(net(grain), grain[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for weight in net.parameters():
            weight.copy_(drawn(weight))
