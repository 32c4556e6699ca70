# guards: AD723
"""A recorder writes sound into the slots of a ring, and no slot is used after it has been written again."""

from collections import deque

import numpy as np
import torch
from torch import nn

SLOTS, LENGTH = 8, 16
luck = np.random.default_rng(0)
torch.manual_seed(0)
ring = np.zeros((SLOTS, LENGTH), np.float32)
window: deque[torch.Tensor] = deque(maxlen=SLOTS)
model = nn.Linear(LENGTH, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for number in range(60):
    slot = number % SLOTS
    ring[slot] = np.sin(np.arange(LENGTH) * luck.uniform(0.1, 1.0)) + 0.1 * luck.normal(size=LENGTH)
    window.append(torch.from_numpy(ring[slot]))
    if len(window) == SLOTS:
        sound = torch.stack(list(window))
        loss = nn.functional.mse_loss(model(sound)[:, 0], sound.square().mean(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
