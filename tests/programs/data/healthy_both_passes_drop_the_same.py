# guards: AD709
"""Sharpness-aware steps: both passes drop the same units, by the number of the step, and so do trials of a rate."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 6)
y = x.sum(1, keepdim=True).sin()
for step in range(12):

    def loss_of():
        torch.manual_seed(step)
        return nn.functional.mse_loss(model(x), y)

    optimizer.zero_grad()
    first = loss_of()
    first.backward()
    with torch.no_grad():
        norm = torch.stack([weight.grad.norm() for weight in model.parameters()]).norm()
        moves = [weight.grad * 0.05 / norm for weight in model.parameters()]
        for weight, move in zip(model.parameters(), moves, strict=True):
            weight.add_(move)
    optimizer.zero_grad()
    loss_of().backward()
    with torch.no_grad():
        for weight, move in zip(model.parameters(), moves, strict=True):
            weight.sub_(move)
    optimizer.step()
    with torch.no_grad():
        if loss_of() > first:
            optimizer.param_groups[0]["lr"] *= 0.9
