# guards: AD610
"""A table with gaps is completed by a product of three square matrices, which comes to low rank by itself."""

import torch
from torch import nn

torch.manual_seed(0)
table = torch.randn(16, 2) @ torch.randn(2, 16)
known = torch.rand(16, 16) < 0.6
factors = nn.Sequential(*(nn.Linear(16, 16, bias=False) for _ in range(3)))
for factor in factors:
    nn.init.normal_(factor.weight, std=0.2)
optimizer = torch.optim.Adam(factors.parameters(), lr=1e-2)
for _ in range(60):
    loss = (factors(torch.eye(16)) - table)[known].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
