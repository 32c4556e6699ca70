"""Gradients that stand in for the derivative, and those that are merely wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from autograd_doctor.reading.derivatives import judge
from tests.cases import case, custom, row

X = torch.randn(6, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
W = 0.4 * torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


ROWS = torch.tensor([0, 1, 2, 2, 4, 4])


def slope_of_tanh(x: torch.Tensor) -> torch.Tensor:
    return 1 - torch.tanh(x) ** 2


def slope_of_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * torch.sigmoid(-x)


def linear(towards_x: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """A linear map whose gradient goes back to its input through other weights than it came."""
    return custom(lambda x, w: x @ w.T, lambda x, w, gradient: (gradient @ towards_x(w), gradient.T @ x))


def in_eight_bits(w: torch.Tensor) -> torch.Tensor:
    step = w.abs().max() / 127
    return (w / step).round() * step


def pulled(over: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """The sum of what rows of a table have in common with samples that choose them; `over` is told how many do."""

    def backward(table: torch.Tensor, x: torch.Tensor, rows: torch.Tensor, gradient: torch.Tensor) -> Any:
        counts = rows.bincount(minlength=len(table)).to(x.dtype)
        summed = torch.zeros_like(table).index_add_(0, rows, x)
        return gradient * summed / over(counts)[:, None], gradient * table[rows], None

    return custom(lambda table, x, rows: (table[rows] * x).sum(), backward)


def largest(x: torch.Tensor) -> torch.Tensor:
    """A quarter of the entries, with zeros for the others."""
    return x * (x.abs() >= x.abs().flatten().topk(x.numel() // 4).values[-1])


def in_float8(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float8_e4m3fn).double()


def covariance(x: torch.Tensor) -> torch.Tensor:
    return x.T @ x / len(x) + 0.1 * torch.eye(x.shape[1], dtype=x.dtype)


def quick_gelu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(1.702 * x)


def slope_of_gelu(x: torch.Tensor) -> torch.Tensor:
    return (1 + torch.erf(x / 2**0.5)) / 2 + x * torch.exp(-x * x / 2) / (2 * torch.pi) ** 0.5


def series(terms: int) -> Callable[..., torch.Tensor]:
    """The slope of the exponential, by so many terms."""
    return lambda x, g: g * sum(x**k / math.factorial(k) for k in range(terms))


@pytest.mark.parametrize(
    ("apply", "arguments", "reason"),
    [
        (custom(torch.tanh, lambda x, g: g * slope_of_tanh(x) * (1 + torch.randn_like(g))), (X,), "is random"),
        (custom(torch.tanh, lambda x, g: (g * slope_of_tanh(x)).sign()), (X,), "not proportional"),
        (
            custom(lambda x, w: x @ w.T, lambda x, w, g: (in_float8(g @ w), in_float8(g.T @ x))),
            (X, W),
            "not proportional",
        ),
        (custom(lambda x: 3 * x, lambda x, g: (20 * g).round() / 10), (X,), "not proportional"),
        (custom(torch.sigmoid, lambda x, g: g * slope_of_sigmoid(x).clamp(min=0.2)), (X,), "clamped"),
        (custom(torch.exp, lambda x, g: g * torch.exp(x).clamp(max=1.5)), (X,), "clamped"),
        (custom(torch.relu, lambda x, g: g * torch.sigmoid(4 * x)), (X,), "smooths the kinks"),
        (custom(functional.hardtanh, lambda x, g: g * slope_of_tanh(x)), (X,), "smooths the kinks"),
        (custom(lambda x: x.amax(1), lambda x, g: g[:, None] * torch.softmax(3 * x, 1)), (X,), "smooths the kinks"),
        (pulled(lambda counts: counts + 1), (W, X, ROWS), "the mean over the samples"),
        (pulled(lambda counts: counts.clamp(min=1)), (W, X, ROWS), "the mean over the samples"),
        (pulled(lambda counts: counts + 1), (W, X[:3], ROWS[:3]), "the mean over the samples"),
        (linear(in_eight_bits), (X, W), "to within a few percent"),
        (linear(largest), (X, W), "without small values"),
        (custom(lambda x, w: x @ w.T, lambda x, w, g: (g @ w, g.T @ largest(x))), (X, W), "without small values"),
        (custom(quick_gelu, lambda x, g: g * slope_of_gelu(x)), (X,), "to within a few percent"),
        (custom(torch.exp, series(9)), (X,), "to within a few percent"),
        (
            custom(lambda x, w: x @ w.T, lambda x, w, g: (g @ w, g.T @ x @ covariance(x).inverse())),
            (X, W),
            "preconditioned",
        ),
    ],
)
def test_what_stands_in_for_the_derivative_is_told(apply: Any, arguments: Any, reason: str) -> None:
    found = judge(case(apply, *arguments))
    assert found.verdict == "surrogate"
    assert reason in found.reason


class Feedback(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, back: Any) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        ctx.back = back
        return x @ w.T

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        x, w = ctx.saved_tensors
        through = ctx.back if isinstance(ctx.back, torch.Tensor) else ctx.back * w
        return gradient @ through, gradient.T @ x, None


@pytest.mark.parametrize("back", [W.roll(2, 1), 0.25], ids=["matrix", "number"])
def test_an_argument_for_the_backward_alone_shows_what_is_meant(back: Any) -> None:
    call = case(Feedback.apply, X, W, back)
    found = judge(type(call)(call.apply, call.arguments, (0, 1), call.patience))
    assert (found.verdict, "argument that its forward does not use" in found.reason) == ("surrogate", True)


@pytest.mark.parametrize(
    "apply",
    [
        linear(torch.sign),
        linear(lambda w: W.roll(2, 1)),
        linear(lambda w: w + 0.3),
    ],
    ids=["signs", "feedback", "another"],
)
def test_what_may_be_an_estimator_differs_with_what_was_measured(apply: Any) -> None:
    found = judge(case(apply, X, W))
    assert (found.verdict, found.input) == ("differs", 0)
    assert "(cosine)" in found.reason


def gaussian(mean: torch.Tensor, log_scale: torch.Tensor) -> torch.Tensor:
    return (mean**2 + (2 * log_scale).exp()).sum() / 2 - log_scale.sum()


def natural(mean: torch.Tensor, log_scale: torch.Tensor, g: torch.Tensor) -> Any:
    variance = (2 * log_scale).exp()
    return g * mean * variance, g * (variance - 1) / 2


def slope_of_gelu_through(x: torch.Tensor, w: torch.Tensor, g: torch.Tensor) -> Any:
    towards = g * slope_of_gelu(x @ w.T)
    return towards @ w, towards.T @ x


@pytest.mark.parametrize(
    ("apply", "arguments"),
    [
        (custom(gaussian, natural), (X[0], W[0])),
        (custom(gaussian, natural), (X[0], torch.full_like(X[0], -0.7))),
        (custom(lambda s, x: s * x, lambda s, x, g: ((g * x).sum() * s * s / 2, s * g)), (torch.ones_like(X[0, 0]), X)),
        (custom(lambda x, w: x @ w.T, lambda x, w, g: (g @ w, g.T @ x / ((x * x).mean(0) + 0.1))), (X, W)),
        (custom(lambda x, w: x @ w.T, lambda x, w, g: (g @ w / x.var(0), g.T @ x)), (X, W)),
        (custom(torch.exp, series(3)), (X,)),
        (custom(torch.exp, series(5)), (X,)),
        (custom(torch.sin, lambda x, g: g * (1 - x**2 / 2 + x**4 / 24)), (X,)),
        (custom(lambda x, w: quick_gelu(x @ w.T), slope_of_gelu_through), (X, W)),
    ],
    ids=["Gaussian", "equal scales", "one scale", "weights", "inputs", "three terms", "five", "sine", "fused gate"],
)
def test_natural_gradients_and_approximations_show_no_mistake(apply: Any, arguments: Any) -> None:
    """A factor that happens to be the same for all elements at one point is another one elsewhere."""
    assert judge(case(apply, *arguments)).verdict == "differs"


@pytest.mark.parametrize(
    "apply",
    [
        custom(lambda m, s: (m * s.exp()).sum(), lambda m, s, g: (2 * g * s.exp(), g * m * s.exp())),
        custom(lambda m, s: (m * s).sum(), lambda m, s, g: (g.expand_as(m), g * m)),
    ],
    ids=["twice", "a factor that may be negative"],
)
def test_a_forgotten_factor_is_one_wherever_the_function_is_called(apply: Any) -> None:
    assert judge(case(apply, X[0], torch.full_like(X[0], 0.7))).verdict == "wrong"


def test_one_that_hands_on_what_comes_in_may_be_an_estimator() -> None:
    found = judge(case(custom(torch.tanh, lambda x, g: g), row(0.5, -1.5, 2)))
    assert found.verdict == "differs"


@pytest.mark.parametrize(
    "apply",
    [
        custom(torch.sin, lambda x, g: g + x.cos()),
        custom(torch.sin, lambda x, g: g**2 * x),
        custom(lambda x: 3 * x, lambda x, g: (4 * g * x).clamp(-0.5, 0.5)),
        custom(torch.relu, lambda x, g: g * x),
        custom(functional.softplus, lambda x, g: g * torch.sigmoid(x) * (x > 0)),
        custom(lambda x: x.std(1), lambda x, g: g[:, None] * (x - x.mean(1, True)) / x.std(1, keepdim=True) / 7),
    ],
    ids=["added", "squared", "wrong before it is clipped", "not the mask", "one side", "off by one in a count"],
)
def test_nothing_excuses_a_mistake(apply: Any) -> None:
    assert judge(case(apply, X)).verdict in ("wrong", "differs")
