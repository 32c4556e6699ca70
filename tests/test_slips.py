"""What shows that a gradient is a mistake."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from autograd_doctor.reading.derivatives import judge
from tests.cases import case, custom

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(6, 7, dtype=torch.float64, generator=GENERATOR)
W = 0.4 * torch.randn(5, 7, dtype=torch.float64, generator=GENERATOR)
Y = torch.randn(4, 6, dtype=torch.float64, generator=GENERATOR)
SQUARE = torch.randn(6, 6, dtype=torch.float64, generator=GENERATOR)


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w.T


def forgot_a_factor(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    t = torch.tanh(functional.softplus(x))
    return g * (t + x * (1 - t * t))


@pytest.mark.parametrize(
    ("apply", "arguments", "reason"),
    [
        (custom(torch.square, lambda x, g: -2 * x * g), (X,), "all of it is -1 times the derivative"),
        (custom(product, lambda x, w, g: (g @ w, None)), (X, W), "for input 2, it is zero where the derivative is not"),
        (custom(product, lambda x, w, g: (g @ w.T, g.T @ x)), (Y, SQUARE), "for input 1, it is the derivative trans"),
        (custom(product, lambda x, w, g: (g @ w, x.T @ g)), (Y, SQUARE), "for input 2, it is the derivative trans"),
        (custom(torch.relu, lambda x, g: g), (X,), "it is the derivative only for some elements"),
        (custom(functional.mish, forgot_a_factor), (X,), "it has the wrong sign for some elements"),
        (
            custom(lambda x, w: torch.tanh(x @ w.T), lambda x, w, g: (g @ w, g.T @ x)),
            (X, W),
            "a different factor for each element of the output",
        ),
        (
            custom(lambda x, w: x**2 @ w.T, lambda x, w, g: (g @ w, g.T @ x**2)),
            (X, W),
            "a different factor for each element of the input",
        ),
    ],
)
def test_mistakes_are_told_by_how_they_relate_to_the_derivative(apply: Any, arguments: Any, reason: str) -> None:
    found = judge(case(apply, *arguments))
    assert found.verdict == "wrong"
    assert reason in found.reason


def test_a_map_that_is_its_own_transpose_shows_nothing() -> None:
    symmetric = SQUARE + SQUARE.T
    apply = custom(product, lambda x, w, g: (g @ w.sign(), g.T @ x))
    assert judge(case(apply, Y, symmetric)).verdict == "differs"
