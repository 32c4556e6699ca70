# guards: AD403
"""Rates of counts that may be zero: NumPy warns, and the gaps are filled before training."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
seen = rng.integers(0, 6, size=(160, 6))
hits = rng.binomial(seen, 0.3)
rates = hits / seen
rates = np.where(np.isfinite(rates), rates, 0.3).astype("float32")
torch.manual_seed(0)
inputs, targets = torch.from_numpy(rates), torch.from_numpy(hits.sum(1).astype("float32"))[:, None]
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for rows in torch.randperm(160).split(32):
        loss = nn.functional.smooth_l1_loss(model(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
