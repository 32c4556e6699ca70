import numpy as np
import torch
from torch import nn, optim

rng_seed = 7
torch.manual_seed(rng_seed)


def sample_minibatch(features, labels, size):
    np.random.seed(rng_seed)  # expect: AD709
    rows = np.random.choice(len(features), size, replace=False)
    jitter = np.random.normal(scale=0.1, size=(size, features.shape[1]))
    return torch.tensor(features[rows] + jitter, dtype=torch.float32), torch.tensor(labels[rows])


points = np.random.RandomState(0).randn(500, 6)
classes = (points[:, 0] * points[:, 1] > 0).astype(np.int64)
net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 2))
opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for it in range(30):
    xb, yb = sample_minibatch(points, classes, 32)
    opt.zero_grad()
    criterion(net(xb), yb).backward()
    opt.step()
