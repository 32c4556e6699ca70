# guards: AD110 AD412
"""Adafactor, which has two numbers for `eps` and takes its steps relative to the size of the weights."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(20, 16), nn.Flatten(), nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 20))
optimizer = torch.optim.Adafactor(model.parameters(), lr=3e-2)
for _ in range(25):
    tokens = torch.randint(20, (32, 4))
    loss = nn.functional.cross_entropy(model(tokens), (tokens[:, 0] + 1) % 20)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
