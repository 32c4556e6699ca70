# guards: AD224
"""A head that no sample of a batch needs is kept in the graph by a zero; a kernel that is symmetric is checked to be."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
trunk, main, rare = nn.Linear(6, 12), nn.Linear(12, 3), nn.Linear(12, 2)
optimizer = torch.optim.SGD([*trunk.parameters(), *main.parameters(), *rare.parameters()], lr=0.1)
for step in range(30):
    x = torch.randn(20, 6)
    hidden = torch.tanh(trunk(x))
    loss = F.cross_entropy(main(hidden), x[:, :3].argmax(1))
    side = rare(hidden)
    loss = loss + (F.cross_entropy(side, (x[:, 3] > 0).long()) if step % 5 == 4 else (side - side).mean())
    alike = hidden @ hidden.T
    loss = loss + 0.01 * (alike + alike.T - (alike + alike.T).T).square().mean() + 1e-3 * alike.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
