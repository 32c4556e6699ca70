# guards: AD609 AD620
"""Gradient ascent on an objective: the evidence of a Bayesian layer, the score of a policy, the cosine of two views."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


def evidence() -> None:
    """A lower bound is climbed, and its divergence is made of parameters alone."""
    mean, log_scale = nn.Parameter(torch.zeros(5)), nn.Parameter(torch.full((5,), -2.0))
    optimizer = torch.optim.Adam([mean, log_scale], lr=1e-2, maximize=True)
    for _ in range(24):
        x = torch.randn(64, 5)
        weights = mean + log_scale.exp() * torch.randn(5)
        fit = -8 * functional.mse_loss(x @ weights, x.sum(1))
        divergence = 0.5 * (mean.square() + (2 * log_scale).exp() - 1 - 2 * log_scale).sum()
        bound = fit - divergence / 64
        optimizer.zero_grad()
        bound.backward()
        optimizer.step()


def similarity() -> None:
    """A cosine has its lowest value; the weights have a penalty."""
    encoder, predictor = nn.Linear(8, 16), nn.Linear(16, 16)
    optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
    for _ in range(24):
        x = torch.randn(32, 8)
        first, second = encoder(x + 0.1 * torch.randn_like(x)), encoder(x + 0.1 * torch.randn_like(x))
        penalty = 1e-3 * sum(weight.square().sum() for weight in encoder.parameters())
        loss = -functional.cosine_similarity(predictor(first), second.detach()).mean() + penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def entropy_bonus() -> None:
    """Less confident predictions, and weights that stay small."""
    model = nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(24):
        x = torch.randn(32, 8)
        scores = model(x)
        entropy = -(scores.softmax(1) * scores.log_softmax(1)).sum(1).mean()
        loss = functional.cross_entropy(scores, x[:, :4].argmax(1)) - 0.1 * entropy + 1e-3 * model.weight.abs().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def multipliers() -> None:
    """A constraint with its multiplier, which climbs while the model goes down."""
    model, multiplier = nn.Linear(6, 1), nn.Parameter(torch.tensor(0.1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    climbs = torch.optim.SGD([multiplier], lr=0.05, maximize=True)
    for _ in range(24):
        x = torch.randn(64, 6)
        error = functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss = error + multiplier * (model.weight.abs().sum() - 2)
        optimizer.zero_grad()
        climbs.zero_grad()
        loss.backward()
        optimizer.step()
        climbs.step()


torch.manual_seed(0)
evidence()
similarity()
entropy_bonus()
multipliers()
