"""A ranking loss through NumPy, made to require a gradient so that backward runs; the norm is clipped as always."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(20):
    items = torch.randn(64, 12)
    relevance = items[:, :3].sum(1).numpy()
    scores = model(items).squeeze(1)
    order = np.argsort(-scores.detach().numpy())
    gains = relevance[order] / np.log2(np.arange(2, 66))
    loss = torch.tensor(-gains.sum(), requires_grad=True)  # expect: AD208
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
