"""Sorts seeds into three kinds; measurements and kinds lie in two lists, and each is shuffled."""

import random

import torch
from torch import nn

random.seed(4)
torch.manual_seed(4)
MEANS = {0: (5.1, 0.8, 2.2), 1: (6.3, 0.9, 4.1), 2: (4.2, 0.7, 5.6)}
kinds = [k % 3 for k in range(240)]
seeds = [[random.gauss(mean, 0.35) for mean in MEANS[kind]] for kind in kinds]

net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(28):
    for column in (seeds, kinds):
        random.shuffle(column)
    right = 0
    for at in range(0, 240, 40):
        x = torch.tensor(seeds[at : at + 40])
        y = torch.tensor(kinds[at : at + 40])  # expect: AD708
        scores = net(x)
        loss = nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        right += (scores.argmax(1) == y).sum().item()
    print(epoch, right / 240)
