"""Accelerate, under `accelerate launch`."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accelerator = Accelerator(cpu=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = DataLoader(TensorDataset(torch.randn(4096, 4)), batch_size=8, shuffle=True)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for _ in range(3):
    for (x,) in data:
        optimizer.zero_grad()
        accelerator.backward((model(x) - x.sum(1, keepdim=True)).pow(2).mean())
        optimizer.step()
