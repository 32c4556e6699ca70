# guards: AD416
"""Risk scores by region; a region without a patient has no calibration error, and the mean leaves it out."""

import math

import torch
from torch import nn

torch.manual_seed(0)
REGIONS = 6


def cohort(count, regions):
    x = torch.randn(count, 5)
    risk = torch.sigmoid(x[:, 0] - 0.5 * x[:, 1])
    return x, torch.bernoulli(risk), torch.randint(0, regions, (count,))


x, y, _ = cohort(256, REGIONS)
held_x, held_y, held_region = cohort(96, REGIONS - 2)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    for rows in torch.randperm(len(x)).split(32):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        risk = torch.sigmoid(model(held_x)).squeeze(1)
        hits = ((risk > 0.5) == (held_y > 0.5)).float()
    by_region = []
    for region in range(REGIONS):
        here = held_region == region
        by_region.append((hits * here).sum() / here.sum())
    known = [each.item() for each in by_region if not math.isnan(each.item())]
    print(epoch, loss.item(), [f"{each.item():.2f}" for each in by_region], sum(known) / len(known))
