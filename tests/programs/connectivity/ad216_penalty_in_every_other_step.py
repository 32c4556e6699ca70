"""Two heads on one trunk; in every other step a penalty on the features is added, without its graph."""

import torch
from torch import nn

torch.manual_seed(0)
trunk, depth, edges = nn.Sequential(nn.Linear(10, 32), nn.ReLU()), nn.Linear(32, 1), nn.Linear(32, 4)
optimizer = torch.optim.Adam([*trunk.parameters(), *depth.parameters(), *edges.parameters()], lr=1e-3)
for step in range(30):
    x = torch.randn(64, 10)
    features = trunk(x)
    of_depth = nn.functional.mse_loss(depth(features), x.sum(1, keepdim=True))
    of_edges = nn.functional.cross_entropy(edges(features), x[:, :4].argmax(1))
    penalty = features.detach().abs().mean()
    loss = of_edges + of_depth
    if step % 2:
        loss = loss + 0.1 * penalty  # expect: AD216
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
