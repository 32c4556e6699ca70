"""A table of features is made in NumPy for all pairs of users and items at once, beyond any machine's memory."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(32, 6)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.mean(1, keepdim=True)).backward()
    optimizer.step()
pairs = np.zeros((2**24, 2**24))  # expect: AD513
print(pairs.mean())
