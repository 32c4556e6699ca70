"""Gradients that differ from the derivative on purpose, and those that are merely wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograd_doctor.reading.finite_differences import slopes
from autograd_doctor.reading.surrogate_gradients import _BOUNDS, _BY_SIZE, _IDENTITY, _STEPS, _End, _end, purpose
from tests.cases import case, custom, row

X = row(-3, -1.3, 0.2, 0.4, 1.7)


def passing(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A function that hands its gradient on as it comes."""
    return custom(forward, lambda *given: given[-1])


def both(forward: Callable[..., Any], factor: float = 1.0) -> Callable[..., Any]:
    """The same for two inputs."""
    return custom(forward, lambda x, y, gradient: (gradient * factor, gradient * factor))


def purpose_of(apply: Callable[..., Any], *arguments: torch.Tensor) -> str:
    call = case(apply, *arguments)
    leaves = call.leaves()
    found = [slopes(call, leaves, index) for index in range(len(leaves))]
    wrong = [index for index, slope in enumerate(found) if slope.wrong.any()]
    assert wrong, "there is nothing to excuse"
    return purpose(call, leaves, found, wrong)


@pytest.mark.parametrize(
    "apply",
    [
        passing(torch.round),
        passing(lambda x: (x > 0).double()),
        passing(lambda x: x * (x.abs() > 0.5)),
        passing(lambda x: torch.zeros_like(x)),
        passing(lambda x: x.round() * row(0, 1, 1, 1, 1)),
    ],
    ids=["round", "spike", "pruned", "constant", "partly constant"],
)
def test_steps_have_no_derivative_to_return(apply: Any) -> None:
    assert purpose_of(apply, X) == _STEPS


def test_one_input_that_goes_in_steps_is_enough() -> None:
    learned = custom(lambda x, size: (x / size).round() * size, lambda x, size, gradient: (gradient, gradient.sum()))
    assert purpose_of(learned, X, torch.tensor(0.5, dtype=torch.float64)) == _STEPS


def test_an_identity_needs_no_backward_of_its_own() -> None:
    assert purpose_of(custom(lambda x: x * 1, lambda x, gradient: -gradient), X) == _IDENTITY


def test_several_outputs_may_be_identities() -> None:
    reversed_both = custom(lambda x, y: (x * 1, y * 1), lambda x, y, first, second: (-first, -second))
    assert purpose_of(reversed_both, X, X[:2]) == _IDENTITY
    half = custom(lambda x, y: (x * 1, y * 3), lambda x, y, first, second: (-first, -second))
    assert purpose_of(half, X, X[:2]) == ""


@pytest.mark.parametrize(
    "apply",
    [
        passing(lambda x: x.clamp(-1, 1)),
        passing(lambda x: x.clamp(min=0.25)),
        passing(lambda x: x.clamp(0, 255)),
        passing(lambda x: x.clamp(max=-0.5)),
    ],
)
def test_a_gradient_may_pass_beyond_a_bound(apply: Any) -> None:
    assert purpose_of(apply, X) == _BOUNDS


@pytest.mark.parametrize(
    "apply",
    [
        custom(lambda x: x.clamp(min=0), lambda x, gradient: gradient * ((x > 0) | (gradient > 0))),
        custom(lambda x: 2 * x, lambda x, gradient: (2 * gradient).clamp(-0.5, 0.5)),
        custom(lambda x: 2 * x, lambda x, gradient: (2 * gradient).clamp(max=0.5)),
    ],
    ids=["one way", "clipped", "clipped above"],
)
def test_a_gradient_may_be_changed_by_its_sign_or_size(apply: Any) -> None:
    assert purpose_of(apply, X) == _BY_SIZE


@pytest.mark.parametrize(
    "apply",
    [
        passing(torch.relu),
        custom(torch.square, lambda x, gradient: x * gradient),
        custom(lambda x: x.clamp(-1, 1), lambda x, gradient: 2 * gradient),
        custom(lambda x: x * 1.0 + 1.0, lambda x, gradient: -gradient),
        passing(lambda x: x.clamp(min=0, max=1e6)),
        custom(lambda x: x.max().reshape(1), lambda x, gradient: gradient.expand(5)),
    ],
    ids=["no mask", "half", "doubled beside the plateaus", "not quite the identity", "bounds out of reach", "largest"],
)
def test_mistakes_have_no_purpose(apply: Any) -> None:
    assert purpose_of(apply, X) == ""


def test_two_inputs_that_bound_each_other_have_no_purpose() -> None:
    assert purpose_of(both(torch.maximum), row(1, 4), row(2, 3)) == ""


def test_every_plateau_has_to_end_in_a_bound() -> None:
    mixed = custom(lambda x: torch.stack([x[0].clamp(-0.5, 0.5), x[1].relu()]), lambda x, gradient: gradient)
    assert purpose_of(mixed, row(-1, -1)) == ""


def test_plateaus_are_those_of_their_own_output() -> None:
    doubled_and_held = custom(lambda x: (2 * x, x.clamp(-1, 1)), lambda x, first, second: 2 * first + second)
    assert purpose_of(doubled_and_held, X) == _BOUNDS


def test_bounds_may_be_far_from_small_inputs() -> None:
    assert purpose_of(passing(lambda x: x.clamp(min=5)), row(1e-3)) == _BOUNDS


# ------------------------------------------------------------------------------------------------------------ plateaus


@pytest.mark.parametrize(
    ("value", "end"),
    [
        (lambda by: 5.0, _End.NONE),
        (lambda by: max(by - 5000, 0.0), _End.NONE),
        (lambda by: float(by > 1), _End.JUMP),
        (lambda by: float(by < -4000), _End.JUMP),
        (lambda by: max(by - 0.5, 0.0), _End.GATE),
        (lambda by: min(by + 0.5, 0.0), _End.GATE),
        (lambda by: max(by - 1e-3, 0.0), _End.GATE),
        (lambda by: min(by + 1e-3, 0.0), _End.GATE),
        (lambda by: max(by, 3.0), _End.BOUND),
        (lambda by: min(max(by - 1, 0.0), 7.0), _End.BOUND),
        (lambda by: min(max(by - 1, 0.0), 3000.0), _End.GATE),
        (lambda by: max(by - 1, 0.0) + (by < -1), _End.JUMP),
        (lambda by: max(by - 1, 0.0) - min(max(-by - 1, 0.0), 7.0), _End.GATE),
        (lambda by: (by > 1) * (1 + 100 * by), _End.JUMP),
        (lambda by: (by > 1) * (5e-4 + by - 1), _End.GATE),
    ],
)
def test_how_plateaus_end(value: Callable[[float], float], end: _End) -> None:
    assert _end(value, 1.0) is end


def test_plateaus_are_followed_further_among_larger_inputs() -> None:
    assert _end(lambda by: max(by - 5000, 0.0), 1.0) is _End.NONE
    assert _end(lambda by: max(by - 5000, 0.0), 2.0) is _End.GATE
