# guards: AD109
# hinted: AD109
"""Features are to serve many tasks: each of them gets a head that begins anew, on a body that goes on."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 12), nn.ReLU())
head = nn.Linear(12, 2)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=2e-3)
signals = torch.randn(400, 8)
for task in range(12):
    head.reset_parameters()
    rule = torch.randn(8)
    labels = (signals @ rule > 0).long()
    for rows in torch.randperm(400).split(25):
        loss = nn.functional.cross_entropy(head(body(signals[rows])), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
