"""Difference quotients of a function, beside what its backward returns."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograd_doctor.reading import finite_differences as module
from autograd_doctor.reading.finite_differences import OutOfTime, Patience, Slopes, jacobian, near, slopes
from tests.cases import case, custom, row

EYE = torch.eye(2, dtype=torch.float64)


def measured(apply: Callable[..., Any], *arguments: torch.Tensor, index: int = 0) -> Slopes:
    call = case(apply, *arguments)
    return slopes(call, call.leaves(), index)


def test_right_gradients_agree_with_the_quotients() -> None:
    found = measured(torch.square, row(1, -3))
    assert found.returned.tolist() == [[2, 0], [0, -6]]
    assert torch.allclose(found.measured, found.returned, rtol=1e-8), "the mean of both sides is closer than either"
    assert found.reliable.all()
    assert not found.wrong.any()
    assert found.blocks == (slice(0, 2),)


def test_wrong_gradients_are_wrong_where_they_differ() -> None:
    found = measured(custom(torch.square, lambda x, gradient: x * gradient), row(1, 0))
    assert found.wrong.tolist() == [[True, False], [False, False]]


def test_several_outputs_stand_below_one_another() -> None:
    found = measured(lambda x: (x * 2, x.sum()), row(1, 5))
    assert found.returned.tolist() == [[2, 0], [0, 2], [1, 1]]
    assert found.blocks == (slice(0, 2), slice(2, 3))


def test_slopes_are_those_of_one_input() -> None:
    found = measured(torch.mul, row(2, 3), row(5, 7), index=1)
    assert found.returned.tolist() == [[2, 0], [0, 3]]
    assert torch.allclose(found.measured, found.returned)


def test_large_inputs_are_moved_further() -> None:
    found = measured(torch.square, row(1e9))
    assert found.reliable.all()
    assert float(found.measured) == pytest.approx(2e9)


@pytest.mark.parametrize(
    "forward",
    [
        torch.relu,
        lambda x: x.abs() * (x.abs() < 1e-5),
        lambda x: (x.abs() > 5e-5).double(),
        lambda x: x.sign() * (x.abs() > 5e-5),
    ],
    ids=["a kink", "a kink that only fine quotients see", "jumps that only coarse ones see", "unequal quotients"],
)
def test_slopes_at_a_kink_are_not_reliable(forward: Callable[..., Any]) -> None:
    found = measured(custom(forward, lambda x, gradient: gradient * 7), row(0))
    assert not found.reliable.any()
    assert not found.wrong.any()


def test_a_jump_hides_neither_mistakes_nor_kinks_elsewhere() -> None:
    found = measured(custom(lambda x: x.relu() + (x > 3), lambda x, gradient: gradient), row(-1, 0, 3))
    assert torch.diag(found.reliable).tolist() == [True, False, False]
    assert torch.diag(found.wrong).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (row(1.0), row(1.0109), [True]),
        (row(1.0), row(1.0125), [False]),
        (row(-1.0), row(1.0), [False]),
        (row(1000, 0), row(1000, 0.9), [True, True]),
        (row(1000, 0), row(1000, 1.1), [True, False]),
        (row(1e6, 1), row(0, 1.5), [False, False]),
        (row(0), row(0), [True]),
        (row(), row(), []),
    ],
)
def test_near_is_a_hundredth_or_a_thousandth_of_what_is_largest_in_both(
    left: Any, right: Any, expected: list[bool]
) -> None:
    assert near(left, right).tolist() == expected


# --------------------------------------------------------------------------------------------------------------- calls


def test_a_function_that_works_in_place_changes_nothing_of_ours() -> None:
    call = case(lambda x, y: x.mul_(y.add_(1)), row(2), torch.tensor([3]))
    leaves = call.leaves()
    assert call.values(leaves).tolist() == call.values(leaves).tolist() == [8]
    assert (call.arguments[0].tolist(), call.arguments[1].tolist(), leaves[0].tolist()) == ([2], [3], [2])


def test_outputs_are_the_tensors_that_have_gradients() -> None:
    call = case(lambda x: [x * 2, x.argmax(), 3.0, x.float()], row(1, 2))
    assert [out.dtype for out in call.run(*call.leaves())] == [torch.float64, torch.float32]
    assert call.values(call.leaves()).tolist() == [2, 4, 1, 2]
    assert not call.values(call.leaves()).requires_grad


def test_leaves_are_copies_that_require_gradients() -> None:
    call = case(torch.add, row(1), torch.tensor([1]), 2)
    (leaf,) = call.leaves()
    assert (leaf.requires_grad, leaf.is_leaf, leaf is call.arguments[0]) == (True, True, False)


def test_gradients_are_told_per_unit_of_what_comes_in() -> None:
    squared = case(custom(lambda x: x * 1, lambda x, gradient: gradient**2), row(1, 1))
    assert torch.equal(jacobian(squared, squared.leaves(), 0), EYE)
    assert torch.equal(jacobian(squared, squared.leaves(), 0, 2.0), 2 * EYE)


def test_an_input_that_an_output_does_not_depend_on_has_no_gradient() -> None:
    call = case(lambda x, y: (x * 2, y.detach()), row(1), row(1))
    assert jacobian(call, call.leaves(), 0).tolist() == [[2], [0]]
    assert jacobian(call, call.leaves(), 1).tolist() == [[0], [0]]


def test_a_function_may_take_its_time_and_no_longer() -> None:
    call = case(torch.square, row(1), seconds=-1)
    with pytest.raises(OutOfTime):
        call.run(*call.leaves())


@pytest.mark.parametrize(
    ("computing", "waiting", "over"), [(2.0, 20.0, False), (2.1, 0.0, True), (0.0, 20.1, True), (0.0, 0.0, False)]
)
def test_patience_ends_by_computing_or_by_waiting_longer(
    computing: float, waiting: float, over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0, 200.0]
    clocks = SimpleNamespace(process_time=lambda: now[0], monotonic=lambda: now[1])
    monkeypatch.setattr(module, "CLOCK", clocks)
    patience = Patience(2.0)
    now[0] += computing
    now[1] += waiting
    assert patience.is_over is over
