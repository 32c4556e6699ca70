"""Losses collected without a word that says so: by a slice, in a line that does two things; other lists stay short."""
import torch
from torch import nn


def measure(model, x, y):
    return (model(x) - y).square().mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
curve, recent = [], []
for _ in range(20):
    x = torch.randn(16, 4)
    recent.append(x)
    recent = recent[-1:]
    loss = measure(model, x, x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve[len(curve):] = [measure(model, x, x.mean(1, keepdim=True))]  # expect: AD301
    recent.append(x)
