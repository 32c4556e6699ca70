"""A pool of arrays that is read in its order first, and mixed before each epoch later."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Pool:
    def __init__(self, batch):
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, 6, 768)
        centers = rng.normal(size=(6, 12))
        self.points = (centers[self.labels] + 0.7 * rng.normal(size=(768, 12))).astype(np.float32)
        self.batch = batch

    def mix(self, epoch):
        rng = np.random.default_rng(1000 + epoch)
        rng.shuffle(self.points)
        rng.shuffle(self.labels)

    def __iter__(self):
        for k in range(0, len(self.labels), self.batch):
            part = slice(k, k + self.batch)
            yield torch.from_numpy(self.points[part].copy()), torch.from_numpy(self.labels[part].copy())


torch.manual_seed(0)
pool = Pool(batch=64)
net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 6))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(16):
    if epoch >= 5:
        pool.mix(epoch)
    total = 0.0
    for points, labels in pool:
        loss = F.cross_entropy(net(points), labels)  # expect: AD708
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 12:.3f}")
