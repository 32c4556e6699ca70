"""Scores of positives that stand twice in a row."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.losses import PositiveRepeated
from autograd_doctor.instruments.losses.repeated_positives import RepeatedPositives
from tests.watching import watching

ROWS, WIDTH = 16, 8
FIRST = torch.zeros(ROWS, dtype=torch.long)
Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def told(loss: Loss, *, among: bool) -> list[PositiveRepeated]:
    """What is told of queries, of keys, and of others to tell these from, which the keys are among."""
    torch.manual_seed(0)
    query, key = nn.Parameter(torch.randn(ROWS, WIDTH)), torch.randn(ROWS, WIDTH)
    others = torch.randn(40, WIDTH)
    if among:
        others[5 : 5 + ROWS] = key
    with watching(RepeatedPositives) as recorded:
        loss(query, key, others).backward()
    return list(recorded.of(PositiveRepeated))


def scores(query: torch.Tensor, key: torch.Tensor, others: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return (query * key).sum(1, keepdim=True), query @ others.t()


def joined(query: torch.Tensor, key: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    return torch.cat(scores(query, key, others), dim=1) / 0.5


def by_exponentials(query: torch.Tensor, key: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    positive, negative = (each.exp() for each in scores(query, key, others))
    return -(positive[:, 0] / (positive[:, 0] + negative.sum(1))).log().mean()


def by_signs(query: torch.Tensor, key: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    positive, negative = scores(query, key, others)
    return -functional.logsigmoid(positive).mean() + functional.softplus(negative).mean()


def by_marks(query: torch.Tensor, key: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    given = joined(query, key, others)
    return functional.binary_cross_entropy_with_logits(given, functional.one_hot(FIRST, given.shape[1]).float())


@pytest.mark.parametrize(
    "loss",
    [
        lambda *given: functional.cross_entropy(joined(*given), FIRST),
        lambda *given: functional.nll_loss(functional.log_softmax(joined(*given), dim=1), FIRST),
        lambda *given: -functional.log_softmax(joined(*given), dim=-1)[:, 0].mean(),
        lambda *given: (joined(*given).logsumexp(1) - scores(*given)[0][:, 0]).mean(),
        lambda query, key, others: functional.cross_entropy(query @ torch.cat([key, others]).t(), torch.arange(ROWS)),
        lambda query, key, others: (
            -functional.log_softmax(query @ torch.cat([key, others]).t(), dim=1).diagonal().mean()
        ),
        by_exponentials,
        by_signs,
        by_marks,
    ],
    ids=["classes", "logarithms", "picked", "logsumexp", "keys", "diagonal", "exponentials", "signs", "marks"],
)
def test_a_positive_among_its_negatives(loss: Loss) -> None:
    (event,) = told(loss, among=True)
    assert event.repeated == 1.0
    assert max(event.by_chance, event.fixed, event.level) < 0.1
    assert told(loss, among=False) == []


@pytest.mark.parametrize(
    "loss",
    [
        lambda *given: functional.cross_entropy(0 * joined(*given), FIRST),
        lambda *given: functional.cross_entropy(joined(*given).masked_fill(torch.arange(41) > 4, -1e9), FIRST),
        lambda *given: functional.cross_entropy(joined(*given).masked_fill(torch.arange(41) > 4, -math.inf), FIRST),
        lambda *given: functional.cross_entropy(joined(*given), torch.full((ROWS,), -100), reduction="sum"),
        lambda *given: functional.cross_entropy(joined(*given), torch.full((ROWS, 41), 1 / 41)),
        lambda *given: (scores(*given)[1].logsumexp(1) - scores(*given)[0][:, 0]).mean(),
    ],
    ids=["all equal", "masked", "ruled out", "ignored", "soft", "once"],
)
def test_scores_that_tell_nothing(loss: Loss) -> None:
    assert told(loss, among=True) == []


def test_classes_that_cannot_be_told_apart() -> None:
    def loss(query: torch.Tensor, key: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(torch.cat([query[:, :4], query[:, :4]], dim=1), torch.arange(ROWS) % 4)

    assert [event.fixed for event in told(loss, among=False)] == [1.0]


def test_what_else_is_equal_is_told_with_it() -> None:
    (event,) = told(lambda *given: functional.cross_entropy(joined(*given).repeat(1, 2), FIRST), among=True)
    assert event.by_chance > 0.9
