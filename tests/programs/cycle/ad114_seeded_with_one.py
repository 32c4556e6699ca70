"""Gradient accumulation whose backwards are told to begin with 1, which changes nothing."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        torch.autograd.backward(loss, grad_tensors=torch.ones(()))  # expect: AD114
    optimizer.step()
