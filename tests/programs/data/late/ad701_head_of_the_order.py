"""A shuffled order of which every batch takes the head."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = torch.from_numpy(rng.normal(size=(800, 9)).astype("float32"))
Y = X[:, :1] * X[:, 1:2]
order = torch.from_numpy(rng.permutation(800))
model = nn.Sequential(nn.Linear(9, 40), nn.Tanh(), nn.Linear(40, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    for i in range(0, 800, 100):
        sel = order[:100]
        loss = nn.functional.mse_loss(model(X[sel]), Y[sel])  # expect: AD701
        opt.zero_grad()
        loss.backward()
        opt.step()
