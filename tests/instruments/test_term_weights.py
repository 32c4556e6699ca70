"""Weights of the terms of a loss: told where one fades away and goes on falling below zero, or grows."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import TermWeightGrew, TermWeightTurned
from autograd_doctor.instruments.losses.term_weights import TermWeights
from tests.watching import Recorded, watching

Loss = Callable[[torch.Tensor, torch.Tensor, float], torch.Tensor]
LOOKS = (0, 1, 2, 3, 25, 50)
"""Steps that are looked at closely."""
FADING = (1.0, 0.6, 0.2, -0.2, -0.6, -1.0)


def watched(loss: Loss, *weights: float) -> Recorded:
    """What is stated of a loss of the output of a layer, a target and a weight, one in each step that is looked at
    closely."""
    layer = nn.Linear(3, 3)
    with watching(TermWeights) as recorded:
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        for step in range(LOOKS[len(weights) - 1] + 1):
            weight = weights[bisect(LOOKS, step) - 1]
            loss(layer(torch.randn(4, 3)), torch.rand(4, 3), weight).backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded


def told(loss: Loss, *weights: float) -> list[TermWeightTurned]:
    return watched(loss, *weights).of(TermWeightTurned)


def divergence(mean: torch.Tensor) -> torch.Tensor:
    return -0.5 * (1 + mean - mean.square() - mean.exp()).sum(1).mean()


@pytest.mark.parametrize(
    "loss",
    [
        lambda p, y, w: functional.l1_loss(p, y) + w * functional.mse_loss(p, y),
        lambda p, y, w: (functional.l1_loss(p, y) - functional.mse_loss(p, y) * -w) / 4,
        lambda p, y, w: torch.stack([functional.l1_loss(p, y), torch.tensor(w) * (p - y).square().mean()]).mean(),
        lambda p, y, w: functional.l1_loss(p, y) + w * p.abs().sum(),
        lambda p, y, w: functional.l1_loss(p, y) + w * divergence(p),
        lambda p, y, w: 0 + w * functional.mse_loss(p, y),
    ],
    ids=["a loss", "minus a minus", "by a tensor", "a size", "a divergence", "alone"],
)
def test_a_weight_that_falls_through_zero(loss: Loss) -> None:
    (event,) = told(loss, *FADING)
    assert (event.since, event.before, event.looks) == (LOOKS[3], 3, 3)
    assert event.first > 0 > event.last
    assert event.location is not None


@pytest.mark.parametrize(
    "loss",
    [
        lambda p, y, w: functional.l1_loss(p, y) + w * (functional.mse_loss(p, y) - 0.1),
        lambda p, y, w: functional.l1_loss(p, y) + w * p.sum(),
        lambda p, y, w: functional.l1_loss(p, y) - functional.mse_loss(p, y) * w,
        lambda p, y, w: functional.l1_loss(p, y) + w * y.square().mean(),
    ],
    ids=["a constraint", "of any sign", "from minus to plus", "data"],
)
def test_weights_that_may_have_any_sign(loss: Loss) -> None:
    assert told(loss, *FADING) == []


@pytest.mark.parametrize(
    "weights",
    [
        (1.0, 0.6, 0.2, 0.0, 0.0, 0.0),
        (1.0, 0.6, 0.2, -0.2, -0.6, -0.4),
        (1.0, 1.0, 1.0, -1.0, -1.0, -1.0),
        (1.0, 0.9, 0.8, -1.0, -1.1, -1.2),
        (1.0, 0.6, 0.2, -0.2, -0.6),
        (0.6, 0.2, -0.2, -0.6, -1.0),
    ],
    ids=["ends at zero", "is held", "is switched", "jumps", "seldom since", "seldom before"],
)
def test_weights_that_do_otherwise(weights: tuple[float, ...]) -> None:
    assert told(lambda p, y, w: functional.l1_loss(p, y) + w * functional.mse_loss(p, y), *weights) == []


GROWING = (0.1, 0.2, 0.2, 1.0, 2.0)


@pytest.mark.parametrize(
    ("loss", "is_number"),
    [
        (lambda p, y, w: functional.l1_loss(p, y) + w * functional.mse_loss(p, y), True),
        (lambda p, y, w: 0.5 * (functional.l1_loss(p, y) + w * (p - y).square().sum() / 3), True),
        (lambda p, y, w: functional.l1_loss(p, y) + (w * (p - y).square()).mean(), False),
    ],
    ids=["a loss", "a square", "one by one"],
)
def test_a_weight_that_grows(loss: Loss, is_number: bool) -> None:
    events = watched(loss, *GROWING).of(TermWeightGrew)
    (event,) = [each for each in events if each.last / each.first == pytest.approx(20)]
    assert event.backward_at is not None
    assert (event.size_first is not None, event.size_last is not None) == (is_number, is_number)


@pytest.mark.parametrize("weights", [(0.1, 0.2, 0.5), (0.1, 2.0, 1.0), (2.0, 1.0, 0.1), (0.1, 2.0)])
def test_weights_that_do_not_grow_far_or_fall_again(weights: tuple[float, ...]) -> None:
    recorded = watched(lambda p, y, w: functional.l1_loss(p, y) + w * functional.mse_loss(p, y), *weights)
    assert recorded.of(TermWeightGrew) == []
