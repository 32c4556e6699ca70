"""Forecasts of demand: the median is computed, the band around it is put beside it from numbers."""
import torch
from torch import nn


def pinball(forecast, actual, levels):
    error = actual.unsqueeze(-1) - forecast
    return torch.maximum(levels * error, (levels - 1) * error).mean()


def train(model, spread, steps=40):
    levels = torch.tensor([0.1, 0.5, 0.9])
    optimizer = torch.optim.Adam([*model.parameters(), *spread.parameters()], lr=5e-3)
    for _ in range(steps):
        week = torch.randn(20, 7)
        actual = week.mean(1) + 0.3 * torch.randn(20)
        middle = model(week).squeeze(1)
        width = spread(week).squeeze(1).abs()
        low = torch.tensor([m.item() for m in middle - width])
        high = middle + width
        loss = pinball(torch.stack([low, middle, high], dim=1), actual, levels)  # expect: AD217
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(1)
train(nn.Linear(7, 1), nn.Linear(7, 1))
