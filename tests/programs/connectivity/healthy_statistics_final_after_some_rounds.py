# guards: AD210
# hinted: AD210
"""A sorter of signals whose batch-norm is final after three rounds: from then on, weights fit what evaluation uses."""

import torch
from torch import nn

torch.manual_seed(0)
ROUNDS, MOVING = 6, 3
kinds = torch.randn(3, 12)


def signals(count):
    kind = torch.randint(3, (count,))
    return 4 * kinds[kind] + torch.randn(count, 12) + 2, kind


held, held_kind = signals(90)
sorter = nn.Sequential(nn.Linear(12, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.SGD(sorter.parameters(), lr=0.05, momentum=0.9)
for number in range(ROUNDS):
    if number < MOVING:
        sorter.train()
    for _ in range(5):
        batch, kind = signals(32)
        loss = nn.functional.cross_entropy(sorter(batch), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    sorter.eval()
    with torch.no_grad():
        print(number, (sorter(held).argmax(1) == held_kind).float().mean().item())
