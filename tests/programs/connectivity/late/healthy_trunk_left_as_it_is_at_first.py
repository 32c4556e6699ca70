# guards: AD224
"""A student that begins with the trunk of its teacher and, after a while, goes on with a copy of its own."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(8, 16), nn.Tanh()).requires_grad_(False)
own, head = trunk, nn.Linear(16, 2)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
for step in range(90):
    if step == 30:
        own = copy.deepcopy(trunk).requires_grad_(True)
        optimizer.add_param_group({"params": own.parameters()})
    x = torch.randn(32, 8)
    hidden = own(x)
    loss = F.cross_entropy(head(hidden), (x[:, 0] > 0).long()) + F.mse_loss(hidden, trunk(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
