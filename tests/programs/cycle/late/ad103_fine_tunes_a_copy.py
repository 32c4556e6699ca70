"""Pretraining, then fine-tuning of a copy that the optimizer was never told of."""

import copy

import torch
from torch import nn


def batches(x, y, size=40):
    for rows in torch.randperm(len(x)).split(size):
        yield x[rows], y[rows]


def run_stage(net, optimizer, data, criterion, epochs):
    for _ in range(epochs):
        for x, y in batches(*data):
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()  # expect: AD103
    return loss.item()


torch.manual_seed(1)
x = torch.randn(400, 7)
coarse, fine = x[:, :2].sum(1, keepdim=True), x[:, :3].prod(1, keepdim=True)
base = nn.Sequential(nn.Linear(7, 40), nn.Tanh(), nn.Linear(40, 1))
optimizer = torch.optim.AdamW(base.parameters(), lr=4e-3)
print(run_stage(base, optimizer, (x, coarse), nn.MSELoss(), epochs=7))
tuned = copy.deepcopy(base)
print(run_stage(tuned, optimizer, (x, fine), nn.MSELoss(), epochs=16))
