"""A moving average by calls on lists of tensors, whose two shares add up to 1.8."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
average = copy.deepcopy(model)
kept, new = list(average.parameters()), list(model.parameters())
optimizer = torch.optim.Adam(new, lr=1e-3)
for _ in range(8):
    x = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        torch._foreach_mul_(kept, 0.9)
        torch._foreach_add_(kept, new, alpha=0.9)  # expect: AD121
average(x)
