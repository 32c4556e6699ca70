# guards: AD603
"""A loss that bears wrong labels: 1 - p at the end, in whichever way the probability of the label is picked."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
centres = 2 * torch.randn(5, 8)
labels = torch.randint(0, 5, (400,))
samples = centres[labels] + torch.randn(400, 8)
given = torch.where(torch.rand(400) < 0.2, torch.randint(0, 5, (400,)), labels)


def generalised(scores, target, power):
    return (1 + F.nll_loss(scores.softmax(1).pow(power), target)) / power


def picked(scores, target, power):
    return (1.0 + F.nll_loss(F.softmax(scores, dim=1), target, reduction="none")).mean()


def train(loss_of, power):
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 5))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for rows in torch.randperm(400).split(32):
        loss = loss_of(model(samples[rows]), given[rows], power)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(generalised, 0.7)
train(generalised, 1.0)
train(picked, 1.0)
