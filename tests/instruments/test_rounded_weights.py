"""Parameters that are rounded between the steps, and how much of the steps is left then."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import SGD

from autograd_doctor.events.numerics import UpdatesRounded
from autograd_doctor.instruments.numerics.rounded_weights import RoundedWeights
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.reading.operation_kinds import Kind
from autograd_doctor.signals.operations import Operation
from tests.inventing import Invented, inventing

ONE = torch.ones(4)
SMALL = 2.0**-10
"""Less than half of what lies between 1 and the next number of bfloat16."""


def weight(gradient: torch.Tensor, dtype: torch.dtype = torch.float32) -> nn.Parameter:
    """Four values, 16 times each."""
    made = nn.Parameter(torch.ones(64, dtype=dtype))
    made.grad = gradient.to(dtype).repeat(16)
    return made


def train(run: Invented, optimizer: SGD, between: Callable[[nn.Parameter], None], steps: int = 3) -> None:
    for _ in range(steps):
        with run.step(optimizer):
            optimizer.step()
        between(optimizer.param_groups[0]["params"][0])


def rounded(parameter: nn.Parameter) -> None:
    parameter.data = parameter.data.bfloat16().to(parameter.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_comes_back_of_what_a_step_has_moved(dtype: torch.dtype) -> None:
    gradient = torch.tensor([SMALL, SMALL, 1.0, 0.0])
    with inventing(RoundedWeights) as run:
        train(run, SGD([weight(gradient, dtype)], lr=1.0), rounded)
        first, second = run.of(UpdatesRounded)
    assert (first.step, first.optimizer, first.dtype, second.step) == (1, 0, "bfloat16", 2)
    assert list(first.back.values()) == list(second.back.values()) == [pytest.approx(2 / 3)]
    assert [*first.arrived.values(), *second.arrived.values()] == pytest.approx([0.0, 1 / 3])


def test_halves_are_another_grid() -> None:
    def halved(parameter: nn.Parameter) -> None:
        parameter.data = parameter.data.half().float()

    with inventing(RoundedWeights) as run:
        train(run, SGD([weight(ONE * 3 * SMALL / 8)], lr=1.0), halved)
        assert {event.dtype for event in run.of(UpdatesRounded)} == {"float16"}


@pytest.mark.parametrize(
    "between",
    [
        lambda parameter: None,
        lambda parameter: parameter.data.fill_(1.0),
        lambda parameter: parameter.data.mul_(1.5),
        lambda parameter: setattr(parameter, "data", torch.ones(2)),
    ],
    ids=["as it was left", "put back", "another value", "another shape"],
)
def test_values_that_are_not_rounded(between: Callable[[nn.Parameter], None]) -> None:
    parameter = weight(torch.tensor([1.0, SMALL, 1.0, SMALL]))
    with inventing(RoundedWeights) as run:
        with run.step(SGD([parameter], lr=0.3)) as call:
            call.optimizer.step()
        between(parameter)
        parameter.grad = torch.ones_like(parameter)
        with run.step(call.optimizer):
            pass
        assert run.of(UpdatesRounded) == []


def test_a_few_values_may_have_been_rounded_so_by_chance() -> None:
    few = nn.Parameter(torch.ones(15))
    few.grad = torch.full((15,), SMALL)
    with inventing(RoundedWeights) as run:
        train(run, SGD([few], lr=1.0), rounded)
        assert run.of(UpdatesRounded) == []


def test_one_that_was_found_as_it_was_left_is_not_looked_at_again() -> None:
    optimizer = SGD([weight(ONE * SMALL)], lr=1.0)
    with inventing(RoundedWeights) as run:
        train(run, optimizer, lambda parameter: None, steps=2)
        train(run, optimizer, rounded)
        assert run.of(UpdatesRounded) == []


def test_a_step_that_nobody_saw_lies_between() -> None:
    optimizer = SGD([weight(ONE * SMALL)], lr=1.0)
    with inventing(RoundedWeights) as run:
        train(run, optimizer, rounded, steps=1)
        detail = run.find(Detail)
        detail.turned.tell(detail)
        train(run, optimizer, rounded, steps=1)
        assert run.of(UpdatesRounded) == []


def test_the_line_is_known_from_the_second_time_on() -> None:
    optimizer = SGD([weight(ONE * SMALL)], lr=1.0)

    def written(parameter: nn.Parameter) -> None:
        run.signals.operations.began.send(
            Operation(torch.Tensor.copy_, Kind.OPERATION, "copy_", (parameter.data, parameter.bfloat16()), {})
        )
        parameter.data.copy_(parameter.data.bfloat16())

    with inventing(RoundedWeights) as run:
        train(run, optimizer, written)
        first, second = run.of(UpdatesRounded)
    assert first.location is None
    assert second.location is not None
    assert second.location.function.endswith("written")


def test_it_is_told_a_few_times() -> None:
    with inventing(RoundedWeights) as run:
        train(run, SGD([weight(ONE * SMALL)], lr=1.0), rounded, steps=400)
        assert len(run.of(UpdatesRounded)) == 16
