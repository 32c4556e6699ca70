"""Factors of a loss that nothing else in it holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograd_doctor.reading.free_factors import free_factors
from autograd_doctor.reading.graph_walk import GraphWalk

Terms = tuple[torch.Tensor, torch.Tensor]


def found(loss_of: Callable[[torch.Tensor, Terms], torch.Tensor], values: int = 2) -> bool:
    """Whether a parameter of so many values is a free factor of a loss that it makes of two terms."""
    torch.manual_seed(0)
    body, weights = nn.Linear(5, 20), nn.Parameter(torch.rand(values) + 0.5)
    out = body(torch.randn(8, 5))
    loss = loss_of(weights, (out.square().mean(), out.abs().mean()))
    factors = free_factors(GraphWalk([loss], backward=0, step=0), loss)
    assert all(factor.parameter is weights for factor in factors)
    return bool(factors)


FREE: list[Callable[[torch.Tensor, Terms], torch.Tensor]] = [
    lambda w, terms: w[0] * terms[0] + w[1] * terms[1],
    lambda w, terms: terms[0] * torch.exp(-w[0]) + terms[1],
    lambda w, terms: (torch.stack(terms) * (-w).exp()).sum(),
    lambda w, terms: (torch.stack(terms) / (2 * w**2)).mean() + terms[0],
    lambda w, terms: torch.dot(nn.functional.softplus(w), torch.stack(terms)),
    lambda w, terms: -(-0.5 * (w.sigmoid()[0] * terms[0] - terms[1])),
]
HELD: list[Callable[[torch.Tensor, Terms], torch.Tensor]] = [
    lambda w, terms: terms[0] * torch.exp(-w[0]) + w[0],
    lambda w, terms: (torch.stack(terms) * (-w).exp() + w).sum(),
    lambda w, terms: torch.dot(w.softmax(0), torch.stack(terms)),
    lambda w, terms: w[0].sigmoid() * terms[0] + (1 - w[0].sigmoid()) * terms[1],
    lambda w, terms: w.clamp(min=0.1)[0] * terms[0] + terms[1],
    lambda w, terms: w[0] * terms[0] + (w - 1).square().sum(),
    lambda w, terms: (w[0] * terms[0]).square() + terms[1],
    lambda w, terms: w[0] * w[1] + terms[0],
    lambda w, terms: w.detach()[0] * terms[0],
]


@pytest.mark.parametrize("loss_of", FREE)
def test_factors_that_only_weigh_terms(loss_of: Callable[[torch.Tensor, Terms], torch.Tensor]) -> None:
    assert found(loss_of)


@pytest.mark.parametrize("loss_of", HELD)
def test_what_stands_elsewhere_is_bounded_or_a_share(
    loss_of: Callable[[torch.Tensor, Terms], torch.Tensor],
) -> None:
    assert not found(loss_of)


def test_a_large_parameter_is_no_weight() -> None:
    assert not found(lambda w, terms: (w * terms[0]).mean(), values=17)


def test_sizes_are_those_of_the_factors() -> None:
    torch.manual_seed(0)
    body, weights = nn.Linear(5, 20), nn.Parameter(torch.tensor([1.0, 2.0]))
    errors = body(torch.randn(8, 5)).square()
    loss = (torch.exp(-weights)[0] * errors.mean()) + errors.sum() / weights[1]
    (factor,) = free_factors(GraphWalk([loss], backward=0, step=0), loss)
    assert sorted(factor.sizes) == pytest.approx(sorted([torch.exp(torch.tensor(-1.0)).item(), 0.5]))
