# guards: AD116 AD102
"""First-order importance of weights is read off products of weights and gradients once training is over."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(200, 6)
y = (x.sum(1) > 0).long()
for _ in range(12):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()

scores = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
for row in range(10):
    model.zero_grad()
    nn.functional.cross_entropy(model(x[row : row + 1]), y[row : row + 1]).backward()
    for n, p in model.named_parameters():
        scores[n] += (p * p.grad).abs().detach()
print({n: float(s.mean()) for n, s in scores.items()})
