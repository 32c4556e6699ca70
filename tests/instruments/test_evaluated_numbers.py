"""What the program reads of its evaluations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import EvaluationSpoiled, NonFiniteInput, NonFiniteProduced
from autograd_doctor.events.run import MoreDetailNeeded
from autograd_doctor.instruments.numerics.evaluated_numbers import EvaluatedNumbers
from autograd_doctor.instruments.spine.detail import FIRST_STEPS
from tests.watching import Recorded, watching

Score = Callable[[torch.Tensor], torch.Tensor]


def evaluated(*scores: Score, gradients: bool = False, steps: int = 1) -> Recorded:
    """What is recorded of a training of so many steps before each evaluation, which reads a score of what comes out."""
    torch.manual_seed(0)
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    with watching(EvaluatedNumbers) as recorded:
        optimizer = SGD(model.parameters(), lr=0.01)
        for score in scores:
            for _ in range(steps):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
            with nullcontext() if gradients else torch.no_grad():
                score(model(x)).item()
    return recorded


def test_a_number_that_is_spoiled_tells_its_origin() -> None:
    (told,) = evaluated(*[lambda out: (out * 0 / 0).mean()] * 3).of(EvaluationSpoiled)
    assert isinstance(told.born, NonFiniteProduced)
    assert (told.born.operation, told.born.output.nan) == ("div", 8)
    assert (told.evaluations, told.spoiled, told.lasts) == (3, 3, True)


def test_what_is_finite_in_the_end_does_not_last() -> None:
    def score(out: torch.Tensor) -> torch.Tensor:
        return (out.mean() - turns.pop(0)).sqrt()

    turns = [100.0, -100.0]
    (told,) = evaluated(score, score).of(EvaluationSpoiled)
    assert (told.evaluations, told.spoiled, told.lasts) == (2, 1, False)


def test_data_that_come_in_spoiled_are_told_as_such() -> None:
    data = torch.tensor([1.0, float("nan")])
    (told,) = evaluated(lambda out: (out - data).abs().mean()).of(EvaluationSpoiled)
    assert isinstance(told.born, NonFiniteInput)


@pytest.mark.parametrize(
    "score",
    [
        lambda out: out.mean(),
        lambda out: torch.zeros(()) / 0,
        lambda out: out[0, 0].masked_fill(torch.tensor(True), float("-inf")),
        lambda out: torch.cat([out.mean(0), torch.tensor([float("nan")])]).nanmean(),
    ],
    ids=["finite", "none of the model's", "a mask", "left out"],
)
def test_others_are_not_told(score: Score) -> None:
    recorded = evaluated(score, score)
    assert recorded.of(EvaluationSpoiled) == []
    assert recorded.of(MoreDetailNeeded) == []


def share_of(kind: int) -> Score:
    """How much of what was called that is right, where all is of kind 0: nothing, where it is never called."""
    return lambda out: (out.argmax(1) >= 0).sum() * 0 / (out.argmax(1) * 0 == kind).sum()


def test_what_is_counted_is_told_where_it_is_never_a_number() -> None:
    (told,) = evaluated(share_of(5), lambda out: -share_of(5)(out)).of(EvaluationSpoiled)
    assert told.counted
    assert told.spoiled == 2


def test_what_is_counted_may_be_nothing_once() -> None:
    recorded = evaluated(share_of(5), share_of(0), share_of(5))
    assert recorded.of(EvaluationSpoiled) == []
    assert recorded.of(MoreDetailNeeded) == []


def test_with_a_graph_it_is_no_evaluation() -> None:
    assert evaluated(lambda out: (out * 0 / 0).mean(), gradients=True).of(EvaluationSpoiled) == []


@pytest.mark.parametrize("before", [0, FIRST_STEPS + 2])
def test_what_nobody_followed_is_asked_for(before: int) -> None:
    score = [lambda out: (out * 0 / 0).mean()] * 2
    recorded = evaluated(*[lambda out: out.mean() * 1] * before, *score)
    assert bool(recorded.of(EvaluationSpoiled)) is not bool(before)
    assert len(recorded.of(MoreDetailNeeded)) == bool(before)
