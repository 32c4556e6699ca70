# guards: AD310
"""One vector that the weights are slices of; each epoch they are given their slices again."""
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
slices, at = [], 0
for p in model.parameters():
    view = flat[at : at + p.numel()].view_as(p)
    p.data = view
    slices.append(view)
    at += p.numel()
velocity = torch.zeros_like(flat)
for epoch in range(3):
    for step in range(4):
        x = torch.randn(16, 8)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
        g = torch.autograd.grad(loss, list(model.parameters()))
        velocity.mul_(0.9).add_(torch.cat([a.reshape(-1) for a in g]))
        flat.sub_(velocity, alpha=0.02)
    with torch.no_grad():
        for p, s in zip(model.parameters(), slices):
            p.copy_(s)
