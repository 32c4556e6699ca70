"""Forwards that are loops, and backwards that go through the last rounds alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograd_doctor.reading import iterates
from autograd_doctor.reading.derivatives import judge
from tests.cases import case, custom

GENERATOR = torch.Generator().manual_seed(0)
X, U = (torch.randn(*shape, dtype=torch.float64, generator=GENERATOR) for shape in ((3, 4), (4, 4)))
W = 0.25 * torch.randn(4, 4, dtype=torch.float64, generator=GENERATOR)
LAST_ROUNDS = "it is only the derivative through the last rounds of the forward's loop"

Step = Callable[..., torch.Tensor]


def applied(z: torch.Tensor, x: torch.Tensor, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.tanh(z @ w.T + x @ u)


def solved(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    z = torch.zeros_like(x)
    for _ in range(25):
        z = applied(z, x, u, w)
    return z


def damped(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    z = torch.zeros_like(x)
    for _ in range(30):
        z = 0.4 * z + 0.6 * applied(z, x, u, w)
    return z


def until_nothing_changes(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    z = torch.zeros_like(x)
    while True:
        moved = applied(z, x, u, w)
        if float((moved - z).abs().max()) < 1e-10:
            return moved
        z = moved


def in_place(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    z = torch.zeros_like(x)
    for _ in range(25):
        z.copy_(applied(z, x, u, w))
    return z


def by_assignment(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    z = torch.zeros_like(x)
    for _ in range(25):
        z[:] = applied(z, x, u, w)
    return z


def through_one(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor, gradient: torch.Tensor) -> list[torch.Tensor]:
    z = solved(x, u, w)
    inner = gradient * (1 - z**2)
    return [inner @ u.T, x.T @ inner, inner.T @ z]


def through_two(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor, gradient: torch.Tensor) -> list[torch.Tensor]:
    z = solved(x, u, w)
    once = gradient * (1 - z**2)
    inner = once + (once @ w) * (1 - z**2)
    return [inner @ u.T, x.T @ inner, inner.T @ z]


def verdict(forward: Step, backward: Callable[..., Any]) -> tuple[str, str]:
    found = judge(case(custom(forward, lambda *given: tuple(backward(*given))), X, U, W))
    return found.verdict, found.reason


@pytest.mark.parametrize("forward", [solved, damped, until_nothing_changes, in_place, by_assignment])
def test_one_application_at_a_fixed_point_is_an_estimator(forward: Step) -> None:
    assert verdict(forward, through_one) == ("surrogate", LAST_ROUNDS)


def test_a_few_applications_are_one_as_well() -> None:
    assert verdict(solved, through_two) == ("surrogate", LAST_ROUNDS)


def test_what_follows_the_loop_may_be_all_that_is_differentiated() -> None:
    def plan(cost: torch.Tensor) -> torch.Tensor:
        kernel, left = torch.exp(-cost), torch.ones(3, dtype=cost.dtype)
        for _ in range(30):
            right = 1 / (kernel.T @ left)
            left = 1 / (kernel @ right)
        return left[:, None] * kernel * right

    found = judge(case(custom(plan, lambda cost, gradient: -gradient * plan(cost)), X))
    assert (found.verdict, found.reason) == ("surrogate", LAST_ROUNDS)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda x, u, w: (2 * x, 2 * u, 2 * w), "all of it is 2 times"),
        (lambda x, u, w: (x, u, -w), "all of it is -1 times"),
        (lambda x, u, w: (x, None, w), "for input 2, it is zero where the derivative is not"),
        (lambda x, u, w: (x, u.T, w), "for input 2, it is the derivative transposed"),
        (lambda x, u, w: (x.roll(1, 1), u, w), "the gradient of some inputs differs"),
    ],
    ids=["factor", "sign", "forgotten", "transposed", "one input"],
)
def test_mistakes_are_told_from_it(spoil: Any, says: str) -> None:
    found = verdict(solved, lambda *given: spoil(*through_one(*given)))
    assert found[0] == "wrong"
    assert found[1].startswith("apart from the derivative through the last rounds")
    assert says in found[1]


def test_a_forgotten_chain_factor_is_one_of_them() -> None:
    def without(x: torch.Tensor, u: torch.Tensor, w: torch.Tensor, gradient: torch.Tensor) -> list[torch.Tensor]:
        return [gradient @ u.T, x.T @ gradient, gradient.T @ solved(x, u, w)]

    found = verdict(solved, without)
    assert (found[0], "a different factor for each element of the output" in found[1]) == ("wrong", True)


def test_no_gradient_at_all_is_no_estimator() -> None:
    assert verdict(solved, lambda x, u, w, gradient: (None, None, 0 * w))[0] == "wrong"


def test_a_forward_of_too_many_operations_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterates, "_MOST_CALLS", 100)
    assert verdict(solved, through_one)[0] != "surrogate"
