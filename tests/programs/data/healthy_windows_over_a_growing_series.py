# guards: AD723
"""Windows of a series that goes on growing: they overlap, and lie at other places of one array."""

import numpy as np
import torch
from torch import nn

luck = np.random.default_rng(1)
torch.manual_seed(0)
series = np.zeros(400, np.float32)
filled = 40
series[:filled] = luck.normal(size=filled).cumsum() * 0.1
windows: list[torch.Tensor] = []
model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(50):
    for _ in range(4):
        series[filled] = 0.95 * series[filled - 1] + 0.3 * luck.normal()
        filled += 1
        windows.append(torch.from_numpy(series[filled - 13 : filled]))
    batch = torch.stack([windows[i] for i in torch.randint(len(windows), (16,)).tolist()])
    loss = nn.functional.mse_loss(model(batch[:, :-1]), batch[:, -1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
