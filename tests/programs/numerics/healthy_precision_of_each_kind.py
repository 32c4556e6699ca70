# guards: AD416
"""Alarms of a plant: the precision of each kind, as far as it was called, and the mean over those that were."""
import math

import torch
from torch import nn

torch.manual_seed(1)
KINDS = 6
readings = torch.randn(360, 8)
kind = readings[:, :4].argmax(1)
watcher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, KINDS))
optimizer = torch.optim.Adam(watcher.parameters(), lr=0.02)
for epoch in range(5):
    watcher.train()
    for rows in torch.randperm(300).split(60):
        loss = nn.functional.cross_entropy(watcher(readings[rows]), kind[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    watcher.eval()
    with torch.no_grad():
        said, true = watcher(readings[300:]).argmax(1), kind[300:]
        found = []
        for k in range(KINDS):
            share = ((said == k) & (true == k)).sum() / (said == k).sum()
            found.append(share.item())
        met = [each for each in found if not math.isnan(each)]
        mean = torch.tensor(found).nanmean().item()
    print(epoch, sum(met) / len(met), mean)
