# guards: AD714
# hinted: AD714
"""A meter is learned from hour by hour; it is read out for good before the campaign is over."""

import torch
from torch import nn


def meter(hours):
    level = torch.zeros(3)
    for _ in range(hours):
        level = 0.9 * level + torch.randn(3)
        yield level, level.sum().reshape(1) + 0.1 * torch.randn(1)


torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
readings = meter(hours=7 * 8)
for day in range(11):
    model.train()
    heard = 0
    for level, total in readings:
        loss = (model(level) - total).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        heard += 1
        if heard == 8:
            break
    model.eval()
    with torch.no_grad():
        print(day, heard, model(torch.ones(3)).item())
