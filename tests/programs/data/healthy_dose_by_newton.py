# guards: AD703
"""Which doses help at which weight: a logistic model in milligrams and grams, solved for by Newton's method."""

import torch

torch.manual_seed(0)
milligrams = 50 + 400 * torch.rand(300, dtype=torch.float64)
grams = 45_000 + 50_000 * torch.rand(300, dtype=torch.float64)
patients = torch.stack([milligrams, grams, torch.ones_like(grams)], dim=1)
chance = torch.sigmoid(0.03 * milligrams - 0.00012 * grams + 1)
helped = torch.bernoulli(chance)


def loss_of(weights):
    scores = patients @ weights
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, helped)


def curvature(slope, weights):
    rows = []
    for each in slope:
        (row,) = torch.autograd.grad(each, weights, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)


weights = torch.zeros(3, dtype=torch.float64, requires_grad=True)
for turn in range(8):
    loss = loss_of(weights)
    (slope,) = torch.autograd.grad(loss, weights, create_graph=True)
    step = torch.linalg.solve(curvature(slope, weights), slope.detach())
    with torch.no_grad():
        weights -= step
    print(turn, round(loss.item(), 5))
