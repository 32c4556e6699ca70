# guards: AD109
"""Federated averaging: every client makes an optimizer over the shared worker, and some have nothing to train on.

Another one is made beforehand, and never stepped, to print which rates its schedule will give.
"""
import copy

import torch
from torch import nn

torch.manual_seed(0)
ROUNDS = 2
worker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))


def adam():
    return torch.optim.Adam(worker.parameters(), lr=5e-3)


def client(size):
    x = torch.randn(size, 4)
    return list(zip(x.split(16), x.square().sum(1, keepdim=True).split(16))) if size else []


clients = [client(size) for size in (48, 0, 32, 0, 64)]
shared = copy.deepcopy(worker.state_dict())
for _ in range(ROUNDS):
    gathered = []
    for data in clients:
        worker.load_state_dict(shared)
        optimizer = adam()
        for x, y in data:
            optimizer.zero_grad()
            nn.functional.mse_loss(worker(x), y).backward()
            optimizer.step()
        if data:
            gathered.append((copy.deepcopy(worker.state_dict()), len(data)))
    total = sum(weight for _, weight in gathered)
    shared = {key: sum(state[key] * weight / total for state, weight in gathered) for key in shared}

worker.load_state_dict(shared)
preview = adam()
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(preview, 30)
print("rates:", schedule.get_last_lr(), "down to", schedule.eta_min)
del preview, schedule
optimizer = adam()
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
for _ in range(12):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    nn.functional.mse_loss(worker(x), x.square().sum(1, keepdim=True)).backward()
    optimizer.step()
    schedule.step()
