# guards: AD216
"""Two heads on one trunk, of which every other step trains one: the loss of the other is a number, for the record."""

import torch
from torch import nn

torch.manual_seed(0)
trunk, depth, edges = nn.Sequential(nn.Linear(10, 32), nn.ReLU()), nn.Linear(32, 1), nn.Linear(32, 4)
optimizer = torch.optim.Adam([*trunk.parameters(), *depth.parameters(), *edges.parameters()], lr=1e-3)
for step in range(80):
    x = torch.randn(64, 10)
    features = trunk(x)
    of_depth = nn.functional.mse_loss(depth(features), x.sum(1, keepdim=True))
    of_edges = nn.functional.cross_entropy(edges(features), x[:, :4].argmax(1))
    if step % 2:
        of_depth = of_depth.detach()
    else:
        of_edges = of_edges.detach()
    loss = of_depth + of_edges
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
