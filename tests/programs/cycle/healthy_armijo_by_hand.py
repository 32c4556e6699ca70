# guards: AD104
"""The body moves by Armijo's rule, tried by hand: its optimizer clears gradients only. The head has one that steps."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(6, 16), nn.Tanh()), nn.Linear(16, 1)
weights = list(body.parameters())
clearing = torch.optim.SGD(weights, lr=0.1)
optimizer = torch.optim.Adam(head.parameters(), lr=0.01)


def error(x):
    return nn.functional.mse_loss(head(body(x)), x.sum(1, keepdim=True))


for _ in range(12):
    x = torch.randn(64, 6)
    clearing.zero_grad()
    optimizer.zero_grad()
    error(x).backward()
    optimizer.step()
    squared = sum(p.grad.square().sum() for p in weights)
    rate = 0.4
    with torch.no_grad():
        before = error(x)
        for p in weights:
            p.sub_(rate * p.grad)
        while error(x) > before - 1e-4 * rate * squared and rate > 0.01:
            rate /= 2
            for p in weights:
                p.add_(rate * p.grad)
