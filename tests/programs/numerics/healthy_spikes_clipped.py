# guards: AD412
"""A regression on prices whose gradients have spikes: the limit cuts those to a thousandth, and leaves the others."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for step in range(40):
    x = torch.randn(32, 5)
    price = x.sum(1, keepdim=True) + (1e4 if step % 6 == 5 else 0.0) * torch.randn(32, 1)
    loss = nn.functional.mse_loss(model(x), price)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
