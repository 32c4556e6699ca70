"""Verdicts on custom functions: right, wrong and how, on purpose, or not to be judged."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
import torch

from autograd_doctor.reading.derivatives import (
    _MOST_CUT,
    _MOST_WHOLE,
    judge,
    judge_twice,
    small_copies,
    whole_copies,
)
from tests.cases import case, custom, row

X, Y = row(0.5, -1.0, 2.0), row(3.0, 0.25, -0.7)
NUMBERS = count()

half = custom(torch.square, lambda x, gradient: x * gradient)


@pytest.mark.parametrize("apply", [torch.square, custom(torch.square, lambda x, gradient: 2 * x * gradient)])
def test_right_gradients(apply: Callable[..., Any]) -> None:
    assert judge(case(apply, X)).verdict == "right"


@pytest.mark.parametrize(
    ("apply", "reason"),
    [
        (lambda x: x * next(NUMBERS), "its result differs from call to call"),
        (lambda x: x.detach() * 2, "it has no differentiable output"),
        (
            custom(lambda x: (x * 1e5).round(), lambda x, gradient: gradient * 2e5),
            "its forward is too imprecise to measure",
        ),
    ],
)
def test_what_cannot_be_judged_is_said(apply: Callable[..., Any], reason: str) -> None:
    found = judge(case(apply, row(0.5)))
    assert (found.verdict, found.reason) == ("not judged", reason)


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda x: x.float().exp().double(), "it computes in lower precision than its inputs have"),
        (
            lambda x: x.exp() + 1e-8 * (1e5 * x).sin(),
            "its output changes too unevenly there to measure a slope",
        ),
    ],
)
def test_what_climbs_unevenly_where_it_seems_to_be_wrong(
    forward: Callable[[torch.Tensor], torch.Tensor], reason: str
) -> None:
    found = judge(case(custom(forward, lambda x, gradient: 1.3 * gradient * x.exp() + 0.1), row(1.3)))
    assert (found.verdict, found.reason) == ("not judged", reason)


def test_a_kink_that_was_met_is_no_mistake() -> None:
    assert judge(case(torch.relu, row(0, 1))).verdict == "right"


@pytest.mark.parametrize("x", [X, row(0.3, 1.7)], ids=["where it jumps, too", "between jumps"])
def test_a_purpose_is_told(x: torch.Tensor) -> None:
    found = judge(case(custom(torch.round, lambda x, gradient: gradient), x))
    assert (found.verdict, found.reason) == ("surrogate", "its forward is piecewise constant")


def scaled_steps(x: torch.Tensor, levels: float) -> torch.Tensor:
    scale = x.abs().max() / levels
    return (x / scale).round() * scale


def scaled_signs(x: torch.Tensor) -> torch.Tensor:
    return x.abs().mean() * x.sign()


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        pytest.param(lambda x: scaled_steps(x, 127), lambda x, gradient: gradient, id="many levels"),
        pytest.param(lambda x: scaled_steps(x, 2), lambda x, gradient: gradient, id="few levels"),
        pytest.param(scaled_signs, lambda x, gradient: gradient * (x.abs() < 1.5) * 0.8, id="signs"),
    ],
)
def test_quantisers_that_take_their_scale_from_the_input(
    forward: Callable[..., Any], backward: Callable[..., Any]
) -> None:
    found = judge(case(custom(forward, backward), row(0.51, -1.02, 2.03, 0.13, -0.88)))
    assert (found.verdict, found.reason) == ("surrogate", "its forward jumps")


@pytest.mark.parametrize(
    ("forward", "backward", "verdict"),
    [
        pytest.param(lambda x: x.sin() * x, lambda x, gradient: gradient * x, "differs", id="smooth"),
        pytest.param(
            lambda x: x * x + (x > 0),
            lambda x, gradient: gradient * torch.where(x > 0, 2 * x, -2 * x),
            "wrong",
            id="one",
        ),
        pytest.param(
            lambda x: x.sin() + x.ceil(), lambda x, gradient: 1.5 * gradient * x.cos(), "wrong", id="a factor"
        ),
    ],
)
def test_jumps_excuse_no_slip(forward: Callable[..., Any], backward: Callable[..., Any], verdict: str) -> None:
    assert judge(case(custom(forward, backward), row(0.51, -1.02, 2.03, 0.13, -0.88))).verdict == verdict


SYMMETRIC = torch.tensor([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 3.0]], dtype=torch.float64)
LOPSIDED = SYMMETRIC + torch.tensor([[0.0, 0.5, 0.5], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("factor", "matrix", "verdict"), [(1.0, SYMMETRIC, "right"), (0.5, SYMMETRIC, "wrong"), (1.0, LOPSIDED, "differs")]
)
def test_forwards_that_read_one_triangle(factor: float, matrix: torch.Tensor, verdict: str) -> None:
    apply = custom(
        lambda a: torch.linalg.cholesky(a).diagonal().log().sum(),
        lambda a, gradient: gradient * factor * 0.5 * torch.linalg.inv(a),
    )
    assert judge(case(apply, matrix)).verdict == verdict


def test_a_transposed_gradient_of_a_symmetric_matrix_is_wrong() -> None:
    left, right = row(1.0, 2.0, -1.0), row(0.5, 0.25, 3.0)
    apply = custom(lambda a: left @ a @ right, lambda a, gradient: gradient * torch.outer(right, left))
    assert judge(case(apply, SYMMETRIC)).verdict == "wrong"


def test_the_largest_error_is_told_with_its_input() -> None:
    apply = custom(lambda x, n, y: x * y, lambda x, n, y, gradient: (gradient * y, None, gradient * (x + 5 * (x > 1))))
    found = judge(case(apply, X, torch.tensor([1]), Y))
    assert (found.verdict, found.input) == ("wrong", 2)
    assert found.reason == "for input 3, it is the derivative only for some elements"
    assert [found.error, found.expected, found.found] == pytest.approx([5, 2, 7])


def test_the_worst_of_several_inputs_is_told() -> None:
    apply = custom(lambda x, y: x + y, lambda x, y, gradient: (gradient + x, gradient + 3 * x))
    assert judge(case(apply, X, Y)).input == 1
    apply = custom(lambda x, y: x + y, lambda x, y, gradient: (gradient + 3 * x, gradient + x))
    assert judge(case(apply, X, Y)).input == 0


def test_a_wrong_factor_is_recognised() -> None:
    assert judge(case(half, X)).reason == "all of it is 0.5 times the derivative"


def test_a_gradient_off_by_no_single_factor_has_none() -> None:
    assert "times" not in judge(case(custom(torch.square, lambda x, gradient: 2 * gradient), X)).reason
    assert "times" not in judge(case(custom(torch.square, lambda x, gradient: 0 * gradient), X)).reason


def test_swapped_gradients_are_recognised() -> None:
    swapped = custom(lambda x, n, y: x * y, lambda x, n, y, gradient: (gradient * x, None, gradient * y))
    assert judge(case(swapped, X, torch.tensor([1]), Y)).reason == "the gradients of inputs 1 and 3 are swapped"


def test_one_gradient_in_the_place_of_another_is_no_swap() -> None:
    for backward in (
        lambda x, y, gradient: (gradient * x, gradient * 7 * x),
        lambda x, y, gradient: (gradient * 7 * y, gradient * y),
    ):
        assert "swapped" not in judge(case(custom(lambda x, y: x * y, backward), X, Y)).reason


def test_gradients_of_different_shapes_are_not_swapped() -> None:
    apply = custom(lambda x, y: x.sum() * y.sum(), lambda x, y, gradient: (gradient * x, gradient * y))
    assert "swapped" not in judge(case(apply, X, Y[:2])).reason


def test_second_derivatives_are_judged_by_the_backward() -> None:
    constant = custom(lambda x: 0.1 * x**2, lambda x, gradient: 0.2 * x.detach() * gradient)
    assert judge_twice(case(torch.square, X)).verdict == "right"
    found = judge_twice(case(constant, X))
    assert (found.verdict, found.reason[:30]) == ("wrong", "its backward does not agree wi")


# --------------------------------------------------------------------------------------------------------- cutting down


def sizes(*shapes: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    copies = small_copies([torch.zeros(shape) for shape in shapes])
    return None if copies is None else [tuple(copy.shape) for copy in copies]


def test_equal_sizes_stay_equal_and_different_ones_different() -> None:
    assert sizes((64, 32), (32, 10), (10,)) == [(8, 7), (7, 6), (6,)]
    assert sizes((64, 1), (0, 3), ()) == [(7, 1), (0, 3), ()]


def test_sizes_are_cut_until_they_fit() -> None:
    assert sizes((9, 9, 9)) == [(4, 4, 4)]
    assert sizes((9, 9, 9, 9)) == [(2, 2, 2, 2)]
    assert sizes((9,) * 8) is None
    assert sizes((2,) * 5, (2,) * 7) == [(2,) * 5, (2,) * 7]
    assert sizes((1, 2), (2,) * 5, (2,) * 7) is None


def test_copies_are_of_float64_and_other_values_stay() -> None:
    x, labels = torch.ones(2, requires_grad=True), torch.tensor([1, 2])
    for copies in (small_copies((x, "same", labels)), whole_copies((x, "same", labels))):
        assert copies is not None
        assert (copies[0].dtype, copies[0].requires_grad, copies[1]) == (torch.float64, False, "same")
        assert (copies[2].dtype, copies[2].tolist()) == (torch.int64, [1, 2])
        assert not {copy.data_ptr() for copy in (copies[0], copies[2])} & {x.data_ptr(), labels.data_ptr()}
    double = row(1)
    copied = whole_copies([double])
    assert copied is not None
    assert copied[0].data_ptr() != double.data_ptr()


def test_tensors_of_moderate_size_may_stay_whole() -> None:
    whole = whole_copies([torch.ones(_MOST_WHOLE - 1), torch.ones(1)])
    assert whole is not None
    assert [len(copy) for copy in whole] == [_MOST_WHOLE - 1, 1]
    assert whole_copies([torch.ones(_MOST_WHOLE), torch.ones(1)]) is None
    assert _MOST_CUT < _MOST_WHOLE


def test_numbers_of_rows_are_those_of_the_rows_that_are_left() -> None:
    rows, flags, ends = torch.ones(50, 40), torch.ones(60, dtype=torch.bool), torch.tensor([49, 0, 20, -1] * 15)
    copies = small_copies((rows, flags, ends, torch.tensor([7, 0]), torch.tensor([90, 3])))
    assert copies is not None
    left = len(copies[0])
    assert copies[2].tolist()[:4] == [left - 1, 0, 20 * left // 50, -1]
    assert [each.tolist() for each in copies[3:]] == [[7 * 8 // 40, 0], [90, 3]]
