# guards: AD110
"""A sweep over rates that begins with 0, as the control that the others are held against."""

import torch
from torch import nn


def trained(rate, steps=40):
    torch.manual_seed(0)
    truth = torch.randn(6, 3)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    for _ in range(steps):
        x = torch.randn(32, 6)
        loss = nn.functional.cross_entropy(model(x), (x @ truth).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print({rate: trained(rate) for rate in (0.0, 1e-3, 1e-2)})
