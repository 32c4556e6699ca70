import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
wave = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: math.cos(math.pi * step / 12))  # expect: AD117
for _ in range(30):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
    wave.step()
