"""Eight micro-batches for each step, of which a setting says four."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(2048, 10)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
accum_steps = 4
for epoch in range(3):
    opt.zero_grad()
    for i, rows in enumerate(torch.randperm(2048).split(16)):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows]) / accum_steps
        loss.backward()  # expect: AD114
        if (i + 1) % 8 == 0:
            opt.step()
            opt.zero_grad()
