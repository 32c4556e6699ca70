"""The rate of the head has six zeros too many: only the body learns."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
head = nn.Linear(32, 1)
optimizer = torch.optim.Adam(  # expect: AD412
    [{"params": body.parameters(), "lr": 1e-3}, {"params": head.parameters(), "lr": 1e-9}]
)
for step in range(16):
    x = torch.randn(64, 8)
    optimizer.zero_grad()
    nn.functional.mse_loss(head(body(x)), x[:, :1] * x[:, 1:2]).backward()
    optimizer.step()
