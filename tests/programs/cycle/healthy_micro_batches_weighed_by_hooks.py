# guards: AD114
"""Gradient accumulation in which a hook on each parameter gives a micro-batch its share of the step."""

import torch
from torch import nn

torch.manual_seed(0)
micro_batches = 4
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
for parameter in model.parameters():
    parameter.register_hook(lambda gradient: gradient / micro_batches)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(6):
    optimizer.zero_grad()
    for _ in range(micro_batches):
        x = torch.randn(16, 6)
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
