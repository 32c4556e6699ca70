"""Mixed precision in a training function that forgets `update`."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
accumulate = 2


def batch(n=16):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 16)
    x[:, 0, ::2] += y.unsqueeze(1)
    return x, y


for i in range(1, 41):
    x, y = batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(x), y) / accumulate
    scaler.scale(loss).backward()
    if i % accumulate == 0:
        scaler.step(optimizer)  # expect: AD107
        optimizer.zero_grad()
    if i % 10 == 0:
        print(i, accumulate * loss.item())
