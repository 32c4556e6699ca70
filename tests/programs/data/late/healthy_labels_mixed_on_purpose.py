# guards: AD708
"""Manifold mixup, a null model beside the true one, and labels most of which are noise that is drawn anew."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(5)
torch.manual_seed(5)
x = rng.normal(size=(320, 9)).astype(np.float32)
weight = (x @ rng.normal(size=9)).astype(np.float32)
kind = np.digitize(weight, [-2.0, 0.0, 2.0])


class Mixing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(9, 32), nn.Linear(32, 1)
        self.order, self.share = None, 1.0

    def forward(self, x):
        hidden = F.relu(self.first(x))
        hidden = self.share * hidden + (1 - self.share) * hidden[self.order]
        return self.last(hidden).squeeze(1)


def batches(epochs):
    for _ in range(epochs):
        yield from np.split(rng.permutation(320), 8)


def learn(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


net = Mixing()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for rows in batches(8):
    order, net.share = rng.permutation(40), 0.7
    net.order = torch.from_numpy(order)
    said = net(torch.from_numpy(x[rows]))
    own = F.mse_loss(said, torch.from_numpy(weight[rows]))
    others = F.mse_loss(said, torch.from_numpy(weight[rows][order]))
    learn(opt, net.share * own + (1 - net.share) * others)

true, null = nn.Linear(9, 1), nn.Linear(9, 1)
opt = torch.optim.Adam([*true.parameters(), *null.parameters()], lr=1e-2)
for rows in batches(8):
    inputs, shuffled = torch.from_numpy(x[rows]), weight[rng.permutation(320)][: len(rows)]
    loss = F.mse_loss(true(inputs).squeeze(1), torch.from_numpy(weight[rows]))
    learn(opt, loss + F.mse_loss(null(inputs).squeeze(1), torch.from_numpy(shuffled)))

net = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for rows in batches(10):
    labels = np.where(rng.random(len(rows)) < 0.6, rng.integers(0, 4, len(rows)), kind[rows])
    learn(opt, F.cross_entropy(net(torch.from_numpy(x[rows])), torch.from_numpy(labels)))

# What a forward turns at random, it says itself.


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        turned = torch.randint(0, 2, (len(x),))
        return self.net(torch.where(turned[:, None] > 0, x.flip(1), x)), turned


net = Turned()
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
for rows in batches(20):
    said, turned = net(torch.from_numpy(x[rows]))
    learn(opt, F.cross_entropy(said, turned))

# The target is any sample of the same class.
net = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 9))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
members = [np.flatnonzero(kind == each) for each in range(4)]
for rows in batches(8):
    other = np.array([rng.choice(members[each]) for each in kind[rows]])
    learn(opt, F.mse_loss(net(torch.from_numpy(x[rows])), torch.from_numpy(x[other])))
