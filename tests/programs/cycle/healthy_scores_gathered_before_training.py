# guards: AD104 AD206
# hinted: AD206
"""Squared slopes of single samples tell which weights matter; a fresh network is trained with those alone."""

import torch
from torch import nn
from torch.nn import functional as F


def set_up() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def samples(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(count, 10)
    return x, (x[:, 0] * x[:, 1] > 0).long()


probe, _optimizer_of_probe = set_up()
scores = [torch.zeros_like(weight) for weight in probe.parameters()]
for _ in range(40):
    x, y = samples(1)
    probe.zero_grad()
    F.cross_entropy(probe(x), y).backward()
    for score, weight in zip(scores, probe.parameters(), strict=True):
        score += weight.grad.square()
limit = torch.cat([score.flatten() for score in scores]).quantile(0.5)

model, optimizer = set_up()
for _ in range(20):
    x, y = samples(64)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    for score, weight in zip(scores, model.parameters(), strict=True):
        weight.grad *= score > limit
    optimizer.step()
print(loss.item())
