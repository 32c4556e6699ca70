# guards: AD723
"""One pattern is laid under every row of a batch, and made anew of its array where it is wanted."""

import numpy as np
import torch
from torch import nn

luck = np.random.default_rng(4)
torch.manual_seed(0)
pattern = np.zeros(8, np.float32)
model = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(50):
    pattern[:] = np.cos(np.arange(8) * luck.uniform(0.2, 1.0))
    one = torch.from_numpy(pattern)
    tiled = torch.stack([one] * 6 + [torch.from_numpy(pattern) for _ in range(6)])
    noise = torch.randn(12, 8)
    loss = nn.functional.mse_loss(model(torch.cat([tiled, noise], 1)), (tiled * noise).mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
