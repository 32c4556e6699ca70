# guards: AD618
"""Semi-supervised nodes: what is said of one is near to what is said of a neighbour and to a noisy tag, on both sides.

Few nodes have a label. One optimizer step takes the two losses in two backwards.
"""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)
NODES, CLASSES, ALPHA = 120, 3, 0.8
label = torch.randint(0, CLASSES, (NODES,))
features = torch.randn(NODES, 8) + 1.2 * F.one_hot(label, 8).float()
same = [torch.nonzero(label == each).squeeze(1) for each in label]
neighbour = torch.stack([mates[torch.randint(0, len(mates), ())] for mates in same])
tags = F.one_hot(torch.where(torch.rand(NODES) < 0.7, label, torch.randint(0, CLASSES, (NODES,))), CLASSES).float()
labelled = torch.randperm(NODES)[:24]

net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, CLASSES))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    nodes = torch.randint(0, NODES, (40,))
    opt.zero_grad()
    here = net(features[nodes]).softmax(1)
    spread = ALPHA * net(features[neighbour[nodes]]).softmax(1) + (1 - ALPHA) * tags[nodes]
    smooth = (here - spread).pow(2).sum(1).mean()
    smooth.backward()
    known = F.cross_entropy(net(features[labelled]), label[labelled])
    known.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(smooth.item(), 4), round(known.item(), 4))
