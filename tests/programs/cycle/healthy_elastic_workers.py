# guards: AD121
"""Elastic averaging: two workers are drawn towards a centre, and the centre towards them, by the same share."""

import copy

import torch
from torch import nn

torch.manual_seed(1)
centre = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
workers = [copy.deepcopy(centre) for _ in range(2)]
optimizers = [torch.optim.SGD(worker.parameters(), lr=0.05) for worker in workers]
share = 0.2
for step in range(40):
    for worker, optimizer in zip(workers, optimizers):
        x = torch.randn(24, 6)
        loss = nn.functional.cross_entropy(worker(x), (x.sum(dim=1) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % 2:
        with torch.no_grad():
            for middle, *held in zip(centre.parameters(), *(worker.parameters() for worker in workers)):
                pull = sum(weight - middle for weight in held)
                for weight in held:
                    weight -= share * (weight - middle)
                middle += share * pull
centre.eval()
with torch.no_grad():
    x = torch.randn(100, 6)
    print("accuracy of the centre", (centre(x).argmax(dim=1) == (x.sum(dim=1) > 0).long()).float().mean().item())
