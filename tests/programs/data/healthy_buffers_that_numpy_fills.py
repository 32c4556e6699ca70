# guards: AD712
"""Pinned buffers that NumPy fills behind torch's back, right before each is used."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
spectra = rng.normal(size=(90, 12)).astype(np.float32)
yields = spectra[:, :3].sum(1, keepdims=True)
rooms = [(np.empty((15, 12), np.float32), np.empty((15, 1), np.float32)) for _ in range(3)]
tensors = [(torch.from_numpy(a), torch.from_numpy(b)) for a, b in rooms]
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step = 0
for epoch in range(9):
    for rows in np.split(rng.permutation(90), 6):
        place = step % 3
        np.take(spectra, rows, axis=0, out=rooms[place][0])
        np.take(yields, rows, axis=0, out=rooms[place][1])
        x, y = tensors[place]
        x.mul_(1 + 0.1 * torch.randn(15, 1))
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
