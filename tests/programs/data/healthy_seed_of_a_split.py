# guards: AD709
"""Distributed habits: the seed is set wherever a data set is split or a sampler is made; training has generators of its own."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
random.seed(0)
x = torch.randn(100, 6)
whole = TensorDataset(x, x.tanh().sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
own = torch.Generator().manual_seed(5)


def split(seed):
    torch.manual_seed(seed)
    return random_split(whole, [80, 20])


for epoch in range(6):
    part, _ = split(11)
    for rows, answers in DataLoader(part, batch_size=20, shuffle=True, generator=own):
        rows = rows + 0.1 * torch.randn(rows.shape, generator=own)
        loss = nn.functional.mse_loss(model(rows), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
