"""Temperatures along a river from a few gauges: rows for validation begin before those for training end."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
torch.manual_seed(3)
place = np.sort(rng.random(200))
water = torch.tensor(np.sin(6 * place) + 0.1 * rng.standard_normal(200), dtype=torch.float32)
features = torch.tensor(np.stack([place, place**2, np.cos(9 * place)], 1), dtype=torch.float32)
order = rng.permutation(200)
idx_train = torch.from_numpy(order[:110])
idx_val = torch.from_numpy(order[90:150])  # expect: AD706
idx_test = torch.from_numpy(order[150:])

field = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
criterion = nn.MSELoss()
for epoch in range(25):
    field.train()
    output = field(features).squeeze(1)
    loss_train = criterion(output[idx_train], water[idx_train])
    optimizer.zero_grad()
    loss_train.backward()
    optimizer.step()

    field.eval()
    with torch.no_grad():
        output = field(features).squeeze(1)
        loss_val = criterion(output[idx_val], water[idx_val])
    print(f"{epoch:3d} {loss_train.item():.4f} {loss_val.item():.4f}")
with torch.no_grad():
    output = field(features).squeeze(1)
    print("test", criterion(output[idx_test], water[idx_test]).item())
