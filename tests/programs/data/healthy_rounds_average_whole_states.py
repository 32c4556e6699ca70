# guards: AD710
"""Counters at crossings train copies of one model; the mean of their whole states, buffers too, is evaluated."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def flow(hours, level):
    x = torch.randn(hours, 5) * 2 + level
    return x, x.sum(1, keepdim=True) * 0.3


crossings = [flow(64, level) for level in (1.0, 3.0)]
test_x, test_y = flow(64, 2.0)
shared = nn.Sequential(nn.Linear(5, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 1))
for _ in range(6):
    states = []
    for x, y in crossings:
        local = copy.deepcopy(shared).train()
        optimizer = torch.optim.SGD(local.parameters(), lr=0.02)
        for part in torch.randperm(64).split(32):
            optimizer.zero_grad()
            F.mse_loss(local(x[part]), y[part]).backward()
            optimizer.step()
        states.append(local.state_dict())
    mean = {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}
    shared.load_state_dict(mean)
    shared.eval()
    with torch.no_grad():
        print(F.mse_loss(shared(test_x), test_y).item())
