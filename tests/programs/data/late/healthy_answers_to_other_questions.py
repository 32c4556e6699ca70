# guards: AD708
"""The same sample comes with another action, horizon, item, caption, or annotator, and so with another target."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(2)
torch.manual_seed(2)
users = rng.normal(size=(160, 8)).astype(np.float32)


def model(outputs, inputs=8):
    net = nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, outputs))
    return net, torch.optim.Adam(net.parameters(), lr=3e-3)


def learn(opt, loss):
    opt.zero_grad()
    loss.backward()
    opt.step()


def batches(epochs, size=40, of=160):
    for _ in range(epochs):
        for rows in np.split(rng.permutation(of), of // size):
            yield rows, torch.from_numpy(users[rows])


# Clicks on what was shown at random.
net, opt = model(4)
taste = rng.random((160, 4))
for rows, x in batches(14):
    shown = rng.integers(0, 4, len(rows))
    clicks = torch.from_numpy((rng.random(len(rows)) < taste[rows, shown]).astype(np.float32))
    said = net(x).gather(1, torch.from_numpy(shown)[:, None]).squeeze(1)
    learn(opt, F.binary_cross_entropy_with_logits(said, clicks))

# Whether a picture and a text belong together; each text is compared with its own, or another's, picture.
tower, other = nn.Linear(8, 16), nn.Linear(8, 16)
opt = torch.optim.Adam([*tower.parameters(), *other.parameters()], lr=3e-3)
for rows, x in batches(14):
    belong = rng.random(len(rows)) < 0.5
    texts = users[np.where(belong, rows, rng.permutation(rows))] * 0.5
    said = (tower(x) * other(torch.from_numpy(texts))).sum(1)
    learn(opt, F.binary_cross_entropy_with_logits(said, torch.from_numpy(belong.astype(np.float32))))

# Ratings of items by their features, which no module takes in.
net, opt = model(6)
items = rng.normal(size=(50, 6)).astype(np.float32)
for rows, x in batches(14):
    chosen = rng.integers(0, 50, len(rows))
    stars = np.clip(np.round(3 + items[chosen, 0] + 0.3 * rng.normal(size=len(rows))), 1, 5).astype(np.float32)
    learn(opt, F.mse_loss((net(x) * torch.from_numpy(items[chosen])).sum(1), torch.from_numpy(stars)))

# Three annotators who do not agree, one of them asked at a time.
net, opt = model(3)
opinion = np.stack([np.where(rng.random(160) < 0.5, users[:, :3].argmax(1), rng.integers(0, 3, 160)) for _ in range(3)])
for rows, x in batches(14):
    asked = rng.integers(0, 3, len(rows))
    learn(opt, F.cross_entropy(net(x), torch.from_numpy(opinion[asked, rows])))
