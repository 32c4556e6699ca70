"""Terms of a loss that compare a result with itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograd_doctor.events.connectivity import ReferenceCompared
from autograd_doctor.instruments.connectivity.own_references import OwnReferences
from tests.watching import watching

Term = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def told(term: Term) -> list[ReferenceCompared]:
    """What is stated in four steps that add a term of what a teacher gives, and a student."""
    teacher, student = nn.Linear(4, 3).requires_grad_(False), nn.Linear(4, 3)
    with watching(OwnReferences) as recorded:
        optimizer = torch.optim.SGD(student.parameters(), lr=0.01)
        for _ in range(4):
            x = torch.randn(6, 4)
            given = student(x)
            optimizer.zero_grad()
            (given.square().mean() + 0.5 * term(teacher(x), given)).backward()
            optimizer.step()
    assert not recorded.failures
    return recorded.of(ReferenceCompared)


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(lambda wanted, given: functional.mse_loss(wanted, wanted), id="teacher"),
        pytest.param(lambda wanted, given: (wanted - wanted.clone()).square().mean(), id="by hand"),
        pytest.param(lambda wanted, given: functional.l1_loss(given, given.detach()), id="student"),
        pytest.param(
            lambda wanted, given: functional.kl_div(given.log_softmax(1), given.softmax(1), reduction="sum"), id="kl"
        ),
        pytest.param(
            lambda wanted, given: torch.stack([given.mean(), functional.huber_loss(wanted, wanted)]).sum(), id="stacked"
        ),
    ],
)
def test_a_term_of_two_equal_sides(term: Term) -> None:
    events = told(term)
    assert [event.step for event in events] == [0, 1, 2, 3]
    assert all(event.itself and event.equal for event in events)
    assert len(events[0].parameters) == 2


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(lambda wanted, given: functional.mse_loss(given, wanted), id="student and teacher"),
        pytest.param(lambda wanted, given: given.mean() * (wanted - wanted).square().mean(), id="a weight"),
        pytest.param(lambda wanted, given: (given - given).mean(), id="a zero with a gradient"),
        pytest.param(lambda wanted, given: functional.mse_loss(given, given.clamp(-99, 99)), id="a range"),
        pytest.param(lambda wanted, given: functional.mse_loss(wanted[:1, :1], wanted[:1, :1]), id="one number"),
        pytest.param(
            lambda wanted, given: sum(functional.mse_loss(each, wanted) for each in (given, wanted)), id="one of two"
        ),
    ],
)
def test_what_compares_other_things_or_is_no_term(term: Term) -> None:
    assert not told(term)


def test_sides_that_differ_are_told_as_such() -> None:
    assert not any(event.equal for event in told(lambda wanted, given: functional.mse_loss(wanted, 1.1 * wanted)))
