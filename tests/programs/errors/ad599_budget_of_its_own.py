"""A guard of the program's own refuses a batch: no memory has run out."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def guard(size):
    if size > 64:
        raise torch.OutOfMemoryError(f"a batch of {size} is beyond the budget")  # expect: AD599


for size in (16, 16, 32, 32, 64, 64, 128):
    guard(size)
    x = torch.randn(size, 6)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.mean(1, keepdim=True)).backward()
    optimizer.step()
