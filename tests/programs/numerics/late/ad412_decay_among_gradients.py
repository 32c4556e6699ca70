"""Adam adds the decay to gradients, which are far smaller: all it does is to bring weights down to nothing."""

import torch
from torch import nn

torch.manual_seed(0)
tokens = torch.randint(0, 20, (600, 6))
y = (tokens[:, 0] > tokens[:, 1]).long()
model = nn.Sequential(nn.Embedding(20, 16), nn.Flatten(), nn.Linear(96, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1.0)  # expect: AD412
for epoch in range(8):
    for rows in torch.randperm(600).split(20):
        loss = nn.functional.cross_entropy(model(tokens[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
