# guards: AD723
"""A game moves one array on; what is kept of it was copied: by another dtype, by a clone, or by a table of rows."""

import random
from collections import deque

import numpy as np
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
luck = np.random.default_rng(5)
state = np.zeros(3)
table = torch.zeros(60, 3)
memory = deque(maxlen=40)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    before = torch.from_numpy(state).float()
    table[step] = torch.from_numpy(state)
    state[:] = 0.8 * state + 0.2 * luck.normal(size=3)
    memory.append((before, torch.as_tensor(state).clone().float()))
    if step >= 12:
        now, later = zip(*random.sample(list(memory), 8))
        loss = nn.functional.mse_loss(model(torch.stack(now)), torch.stack(later) + 0.0 * table[:step].mean())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
