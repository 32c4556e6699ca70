# guards: AD102
"""Weights are pushed uphill for one pass, relative to the norm of each layer, and put back before the step."""

import torch
import torch.nn.functional as F
from torch import nn


def perturb(model, gamma):
    kept = {}
    for name, w in model.named_parameters():
        if w.dim() > 1:
            kept[name] = w.data.clone()
            w.data.add_(gamma * w.data.norm() / (w.grad.norm() + 1e-12) * w.grad)
    return kept


def restore(model, kept):
    for name, w in model.named_parameters():
        if name in kept:
            w.data.copy_(kept[name])


def backward(model, x, y):
    loss = F.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    return loss.item()


torch.manual_seed(6)
model = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
waves = torch.stack([torch.sin(k * torch.linspace(0, 6, 24)) for k in (1, 2, 4)])
for it in range(30):
    y = torch.randint(0, 3, (32,))
    x = torch.stack([waves[y], waves[y].roll(3, 1)], 1) + 0.3 * torch.randn(32, 2, 24)
    backward(model, x, y)
    kept = perturb(model, gamma=0.01)
    loss = backward(model, x, y)
    restore(model, kept)
    optimizer.step()
print(round(loss, 3))
