# guards: AD609
"""Repulsion in a set of sensors: a layout is learned in which measured distances are met, and sensors keep away from the
beacons that stand around, by the negative of scaled differences, as long as those are near."""

import torch
from torch import nn

torch.manual_seed(5)
beacons = torch.rand(6, 2)
true_places = torch.rand(12, 2)
measured = torch.cdist(true_places, true_places)
places = nn.Embedding(12, 2)
optimizer = torch.optim.Adam(places.parameters(), lr=0.02)
for step in range(200):
    layout = places(torch.arange(12))
    stress = (torch.cdist(layout, layout) - measured).square().mean()
    gaps = (layout.unsqueeze(1) - beacons) / 0.2
    near = -gaps.square().sum(-1).clamp(max=4.0).mean()
    loss = stress + 0.02 * near
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, stress.item(), near.item())
