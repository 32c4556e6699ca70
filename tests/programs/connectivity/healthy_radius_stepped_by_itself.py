# guards: AD208
"""A one-class model with a learned radius: what shrinks the radius goes backward by itself."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4, bias=False))
normal = torch.randn(400, 5)
with torch.no_grad():
    radius = torch.tensor(body(normal).square().sum(1).quantile(0.9).item(), requires_grad=True)
optimizer = torch.optim.Adam([{"params": body.parameters()}, {"params": [radius], "lr": 1e-2}], lr=1e-3)
for step in range(40):
    rows = torch.randint(0, 400, (64,))
    beyond = torch.relu(body(normal[rows]).square().sum(1) - radius).mean() / 0.1
    spread = (body[0].weight.square().sum() - 4).square()
    optimizer.zero_grad()
    (beyond + 0.1 * spread).backward()
    radius.backward(torch.ones(()))
    optimizer.step()
    if step % 10 == 0:
        print(step, radius.item())
