"""Weights that are made by a step by hand, and whether anything uses them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.events.lifetime import WeightsAdapted
from autograd_doctor.instruments.lifetime.adapted_weights import AdaptedWeights
from tests.watching import watching


def told(adapt: Callable[[nn.Parameter, torch.Tensor], object], *, create_graph: bool = True) -> list[tuple[int, int]]:
    """How many weights two steps have made, and how many of these were idle."""
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with watching(AdaptedWeights) as seen:
        for _ in range(2):
            (slope,) = torch.autograd.grad((weight * 2).square().sum(), weight, create_graph=create_graph)
            kept = adapt(weight, slope)
            optimizer.zero_grad()
            weight.square().sum().backward()
            optimizer.step()
        del kept
    return [(event.made, event.idle) for event in seen.of(WeightsAdapted)]


@pytest.mark.parametrize(
    ("adapt", "expected"),
    [
        (lambda weight, slope: weight - 0.1 * slope, [(2, 2)]),
        (lambda weight, slope: weight + -slope / 4, [(2, 2)]),
        (lambda weight, slope: torch.sub(weight, slope, alpha=0.1), [(2, 2)]),
        (lambda weight, slope: (weight - 0.1 * slope).detach(), [(2, 0)]),
        (lambda weight, slope: (weight - 0.1 * slope).sum(), [(2, 0)]),
        (lambda weight, slope: weight.sum() - slope.norm(), []),
        (lambda weight, slope: torch.ones(3) - slope, []),
    ],
    ids=["sub", "add", "alpha", "detached", "used", "a penalty", "another tensor"],
)
def test_weights_that_nothing_uses(adapt: Callable[..., object], expected: list[tuple[int, int]]) -> None:
    assert told(adapt) == expected


def test_gradients_without_a_graph_tell_nothing() -> None:
    assert told(lambda weight, slope: weight - 0.1 * slope, create_graph=False) == []
