# guards: AD708
"""Soil samples as arrays, what was measured of them as tensors: in each round both are put in a new order, and cut."""

import numpy as np
import torch
from torch import nn

draw = np.random.default_rng(8)
torch.manual_seed(8)
soil = draw.normal(size=(240, 5)).astype(np.float32)
measured = torch.from_numpy(soil @ draw.normal(size=(5, 2)).astype(np.float32)).tanh()
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.005)
for round_ in range(6):
    order = draw.permutation(240)
    shuffled, wanted = soil[order], measured[torch.as_tensor(order)]
    for begin in range(0, 240, 40):
        found = model(torch.as_tensor(shuffled[begin : begin + 40]))
        loss = nn.functional.mse_loss(found, wanted[begin : begin + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
