# guards: AD638
"""Agents are to meet where they all are: what is compared are the positions themselves."""

import torch

torch.manual_seed(3)
positions = torch.nn.Parameter(5 * torch.randn(24, 2))
optimizer = torch.optim.SGD([positions], lr=2.0)
hears = torch.randint(24, (80, 2))
for _ in range(60):
    loss = (positions[hears[:, 0]] - positions[hears[:, 1]]).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(positions.detach().std(0))
