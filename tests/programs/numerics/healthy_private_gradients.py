# guards: AD412
"""Each sample's gradient is clipped to a small norm, and noise is added: the rate is high for that."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(10, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=500.0)
CLIP, NOISE = 1e-4, 0.3
for _ in range(30):
    x, y = torch.randn(12, 10), torch.randint(2, (12,))
    sums = [torch.zeros_like(p) for p in model.parameters()]
    for one, label in zip(x, y):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(one[None]), label[None]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for total, p in zip(sums, model.parameters()):
            total += p.grad
    for total, p in zip(sums, model.parameters()):
        p.grad = (total + CLIP * NOISE * torch.randn_like(p)) / len(x)
    optimizer.step()
