import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(1)
healthy = rng.normal(0.0, 1.0, (120, 5)).astype(np.float32)
ill = rng.normal(0.7, 1.0, (120, 5)).astype(np.float32)
table = np.concatenate([healthy, ill])
diagnosis = np.concatenate([np.zeros(120, np.int64), np.ones(120, np.int64)])

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def epoch(size):
    for start in range(0, len(table), size):
        x = torch.from_numpy(table[start : start + size])
        y = torch.from_numpy(diagnosis[start : start + size])  # expect: AD702
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


for _ in range(3):
    epoch(24)
