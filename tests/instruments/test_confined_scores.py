"""Similarities of unit vectors that a loss takes for scores, and how far apart they can be."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy, linear, log_softmax, normalize

from autograd_doctor.events.losses import ScoresConfined
from autograd_doctor.instruments.losses.confined_scores import ConfinedScores
from tests.watching import watching

SCALE = nn.Parameter(torch.tensor(0.1))
LABELS = torch.arange(4)


def bounds(make: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> list[tuple[float, int, bool]]:
    """What is told of the scores that are made of eight and of four vectors, as a loss takes them for four classes."""
    torch.manual_seed(0)
    one, other = nn.Parameter(torch.randn(4, 6)), nn.Parameter(torch.randn(4, 6))
    with watching(ConfinedScores) as recorded:
        cross_entropy(make(normalize(one), normalize(other)), LABELS).backward()
    return [
        (round(event.bound, 6), event.classes, event.scaled_at is not None) for event in recorded.of(ScoresConfined)
    ]


@pytest.mark.parametrize(
    ("make", "bound", "scaled"),
    [
        (lambda one, other: one @ other.t(), 1.0, False),
        (lambda one, other: linear(one, other), 1.0, False),
        (lambda one, other: torch.inner(one, other), 1.0, False),
        (lambda one, other: torch.einsum("nd,kd->nk", one, other), 1.0, False),
        (lambda one, other: torch.einsum("dn,kd->nk", one.t(), other), 1.0, False),
        (lambda one, other: torch.bmm(one[None], other.t()[None])[0], 1.0, False),
        (lambda one, other: cosine_similarity(one.unsqueeze(1), other.unsqueeze(0), dim=-1), 1.0, False),
        (lambda one, other: one @ other.t() * 0.07, 0.07, True),
        (lambda one, other: -0.07 * (one @ other.t()), 0.07, True),
        (lambda one, other: (one @ other.t()) / 0.1, 10.0, True),
        (lambda one, other: (one @ other.t()).div(torch.tensor(0.1)), 10.0, True),
        (lambda one, other: (one @ other.t() * 0.07).t().contiguous(), 0.07, True),
        (lambda one, other: (one @ other.t()).masked_fill(torch.eye(4) > 0, -math.inf), 1.0, False),
    ],
)
def test_similarities_that_become_scores(
    make: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], bound: float, scaled: bool
) -> None:
    assert bounds(make) == [(bound, 4, scaled)]


@pytest.mark.parametrize(
    "make",
    [
        lambda one, other: one @ (2 * other).t(),
        lambda one, other: (one.t() @ other)[:4, :4],
        lambda one, other: torch.einsum("nd,kd->nk", one, 2 * other),
        lambda one, other: torch.einsum("nd,ke->nk", one, other),
        lambda one, other: one @ other.t() * SCALE,
        lambda one, other: one @ other.t() * torch.ones(4),
        lambda one, other: one @ other.t() + 1.0,
        lambda one, other: torch.cat([one @ other.t(), 9 * one[:, :2]], dim=1),
        lambda one, other: (one @ other.t()).exp(),
    ],
    ids=[
        "longer vectors",
        "along the samples",
        "longer by letters",
        "products of sums",
        "learned scale",
        "one for each",
        "sum",
        "joined with others",
        "exp",
    ],
)
def test_scores_that_may_be_anything(make: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    assert bounds(make) == []


def test_sparse_factors_are_left_alone() -> None:
    table = torch.eye(4).to_sparse()
    assert bounds(lambda one, other: torch.matmul(table, one[:, :4])) == []


def test_a_line_is_told_of_a_few_times() -> None:
    one = nn.Parameter(torch.randn(4, 6))
    with watching(ConfinedScores) as recorded:
        for _ in range(6):
            log_softmax(normalize(one) @ normalize(one).t(), 1).sum().backward()
    assert len(recorded.of(ScoresConfined)) == 4
