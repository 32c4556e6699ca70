# guards: AD216
"""A distance that TorchScript computes, beside a penalty whose weights come from another model without gradients."""

import torch
from torch import nn


@torch.jit.script
def distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a - b).pow(2).sum(-1)


torch.manual_seed(0)
judge, encoder = nn.Linear(5, 1), nn.Linear(5, 4)
optimizer = torch.optim.Adam([*judge.parameters(), *encoder.parameters()], lr=1e-2)
for _ in range(40):
    x = torch.randn(32, 5)
    y = x + 0.1 * torch.randn(32, 5)
    with torch.no_grad():
        level = judge(x).squeeze(-1)
    apart = distance(encoder(x), encoder(y)) - distance(encoder(x), encoder(y.flip(0))) - 0.01 * level
    judged = (judge(x).squeeze(-1) - x.sum(-1)).square().mean()
    loss = judged + torch.relu(apart + 1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
