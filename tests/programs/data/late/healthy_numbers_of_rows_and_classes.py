# guards: AD708
"""Labels that are numbers of rows, of classes in an episode, and of clusters that are found anew."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
kind = np.arange(240) % 8
centers = rng.normal(size=(8, 10)) * 1.5
pictures = (centers[kind] + rng.normal(size=(240, 10))).astype(np.float32)
captions = (pictures @ rng.normal(size=(10, 6)) + 0.1 * rng.normal(size=(240, 6))).astype(np.float32)


def learn(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


# Pairs of pictures and captions, each pair a class of its own.
see, read = nn.Linear(10, 16), nn.Linear(6, 16)
opt = torch.optim.Adam([*see.parameters(), *read.parameters()], lr=1e-2)
for _ in range(10):
    for rows in np.split(rng.permutation(240), 5):
        left, right = see(torch.from_numpy(pictures[rows])), read(torch.from_numpy(captions[rows]))
        labels = torch.from_numpy(np.arange(48))
        learn(opt, F.cross_entropy(F.normalize(left, dim=1) @ F.normalize(right, dim=1).T / 0.2, labels))

# The same picture beside its neighbours in the batch, in whatever order.
net = nn.Linear(10, 48)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(6):
    for rows in np.split(rng.permutation(240), 5):
        learn(opt, F.cross_entropy(net(torch.from_numpy(pictures[rows])), torch.from_numpy(rng.permutation(48))))

# Episodes, in each of which four classes have numbers of their own.
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(60):
    chosen = rng.permutation(8)[:4]
    rows = np.concatenate([rng.permutation(np.flatnonzero(kind == each))[:10] for each in chosen])
    labels, order = np.repeat(np.arange(4), 10), rng.permutation(40)
    learn(opt, F.cross_entropy(net(torch.from_numpy(pictures[rows][order])), torch.from_numpy(labels[order])))

# Clusters of what the model makes of the pictures, numbered anew in each epoch.
body, head = nn.Sequential(nn.Linear(10, 16), nn.Tanh()), nn.Linear(16, 6)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-2)
for _ in range(14):
    with torch.no_grad():
        made = body(torch.from_numpy(pictures)).numpy()
    middles = made[rng.permutation(240)[:6]]
    for _ in range(4):
        nearest = ((made[:, None] - middles) ** 2).sum(-1).argmin(1)
        middles = np.stack([made[nearest == k].mean(0) if (nearest == k).any() else middles[k] for k in range(6)])
    nearest = rng.permutation(6)[nearest]
    for rows in np.split(rng.permutation(240), 5):
        learn(opt, F.cross_entropy(head(body(torch.from_numpy(pictures[rows]))), torch.from_numpy(nearest[rows])))
