"""What schedules that follow a metric are given, and what came before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from autograd_doctor.events.cycle import MetricFollowed
from autograd_doctor.instruments.cycle.plateaus import Plateaus
from tests.watching import watching

Compare = Callable[[torch.Tensor, torch.Tensor], object]


def followed(compare: Compare) -> MetricFollowed:
    """Two epochs of a step and an evaluation of two batches, of which three of four answers are right in each."""
    with watching(Plateaus) as recorded:
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        plateau = ReduceLROnPlateau(optimizer)
        for _ in range(2):
            model(torch.ones(3, 2)).square().mean().backward()
            optimizer.step()
            for answers in (torch.tensor([1, 0, 1, 1]), torch.tensor([0, 0, 0, 1])):
                with torch.no_grad():
                    model(torch.ones(4, 2))
                compare(answers, torch.tensor([1, 0, 0, 1]) if answers[0] else torch.tensor([0, 0, 0, 0]))
            plateau.step(0.75)
    (event,) = recorded.of(MetricFollowed)
    return event


@pytest.mark.parametrize(
    ("compare", "equal"),
    [
        (lambda one, other: one == other, [(6, 8)]),
        (lambda one, other: one != other, [(6, 8)]),
        (lambda one, other: torch.eq(one, other).float().mean(), [(6, 8)]),
        (lambda one, other: (one == other).sum() + (one != other).sum(), [(6, 8), (6, 8)]),
        (lambda one, other: one == 1, []),
        (lambda one, other: one.numpy() == other.numpy(), []),
    ],
    ids=["equal", "not equal", "by a function", "at two places", "with a number", "as arrays"],
)
def test_what_is_found_equal_between_two_calls(compare: Compare, equal: list[tuple[int, int]]) -> None:
    event = followed(compare)
    assert event.equal == [equal, equal]
    assert (event.rows, event.metrics, event.mode) == ([8, 8], [0.75, 0.75], "min")


def test_what_a_loss_of_an_evaluation_may_have_been_averaged_to() -> None:
    with watching(Plateaus) as recorded:
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        plateau = ReduceLROnPlateau(optimizer)
        nn.functional.mse_loss(model(torch.ones(3, 2)), torch.ones(3, 1)).backward()
        optimizer.step()
        with torch.no_grad():
            for error, rows in ((1.0, 3), (2.0, 1)):
                nn.functional.l1_loss(torch.full((rows, 1), error), torch.zeros(rows, 1))
        plateau.step(1.25)
    (event,) = recorded.of(MetricFollowed)
    assert event.evaluated == [[(1.5, 0.75, 1.25)]]
