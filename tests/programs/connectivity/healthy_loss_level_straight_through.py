# guards: AD216
"""Straight-through at the level of the loss: the value is the true 0/1 ranking error, the gradient that of the hinge."""
import torch
from torch import nn

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 1, bias=False))
optimizer = torch.optim.Adam(scorer.parameters(), lr=5e-3)
w = torch.randn(10)

for step in range(35):
    a, b = torch.randn(96, 10), torch.randn(96, 10)
    sign = torch.sign((a - b) @ w)
    margin = sign * (scorer(a) - scorer(b)).squeeze(1)
    soft = torch.relu(1 - margin).mean()
    hard = (margin <= 0).float().mean()
    reg = 1e-3 * scorer[0].weight.pow(2).sum()

    optimizer.zero_grad()
    loss = soft + (hard - soft).detach() + reg
    loss.backward()
    optimizer.step()
    if step % 7 == 0:
        print(f"{step:2d} ranking error {loss.item() - reg.item():.3f}")
