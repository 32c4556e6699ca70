"""Whether the range of a small dtype, rather than the mathematics, made a value that is not finite."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from autograd_doctor.reading.low_precision import from_range, is_low, overflows_only_by_range

HALF = torch.full((4,), 300.0, dtype=torch.float16)


def verdict(function: Callable[..., torch.Tensor], name: str, *args: Any, **kwargs: Any) -> bool | None:
    return from_range(function, name, args, kwargs, function(*args, **kwargs))


@pytest.mark.parametrize(
    ("dtype", "low"),
    [
        (torch.float16, True),
        (torch.bfloat16, True),
        (torch.float32, False),
        (torch.float64, False),
        (torch.int8, False),
    ],
)
def test_dtypes_of_few_bits(dtype: torch.dtype, low: bool) -> None:
    assert is_low(torch.ones(2, dtype=dtype)) == low


def test_what_float32_holds_came_of_the_range() -> None:
    assert verdict(torch.square, "square", HALF) is True
    assert verdict(torch.sum, "sum", HALF * 200) is True
    assert verdict(torch.mul, "mul", HALF, 300.0) is True
    assert verdict(torch.cat, "cat", [HALF, HALF / 0]) is False
    assert verdict(torch.stack, "stack", (HALF, HALF)) is True


def test_what_float32_does_not_hold_either_is_mathematics() -> None:
    assert verdict(torch.log, "log", -HALF) is False
    assert verdict(torch.div, "div", HALF, torch.zeros(4, dtype=torch.float16)) is False
    huge = torch.full((4,), 1e38, dtype=torch.bfloat16)
    assert verdict(torch.square, "square", huge) is False


def test_a_dtype_that_was_asked_for_is_widened_as_well() -> None:
    assert verdict(torch.sum, "sum", HALF * 200, dtype=torch.float16) is True
    assert verdict(torch.sum, "sum", HALF * 200, dtype=torch.bfloat16) is True


@pytest.mark.parametrize("name", ["to", "half", "type"])
def test_a_cast_overflows_by_the_range_alone(name: str) -> None:
    wide = torch.full((2,), 1e6)
    assert from_range(torch.Tensor.half, name, (wide,), {}, wide.half()) is True


def test_autocast_is_left_out() -> None:
    wide, small = torch.full((4, 4), 1e4), torch.full((4, 4), 1e3)
    with torch.autocast("cpu", dtype=torch.float16):
        output = torch.mm(wide, small)
        assert output.dtype == torch.float16
        assert from_range(torch.mm, "mm", (wide, small), {}, output) is True
        assert torch.mm(wide, small).dtype == torch.float16


def test_where_it_cannot_be_tried_it_is_not_known() -> None:
    assert verdict(torch.log, "log", torch.full((2,), -1.0)) is None, "float32"
    grown = HALF.clone()
    assert from_range(torch.Tensor.mul_, "mul_", (grown, 300), {}, grown) is None, "its operand is gone"
    into = torch.empty(4, dtype=torch.float16)
    assert from_range(torch.mul, "mul", (HALF, HALF), {"out": into}, into) is None

    def fails(tensor: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("not implemented for 'Float'")

    assert from_range(fails, "fails", (HALF,), {}, HALF * HALF) is None


def test_trying_draws_no_random_numbers_and_warns_of_nothing() -> None:
    def noisy(tensor: torch.Tensor) -> torch.Tensor:
        warnings.warn("once is enough", stacklevel=1)
        return tensor * torch.rand(4, dtype=tensor.dtype) * 1e4

    before = torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_range(noisy, "noisy", (HALF,), {}, HALF * HALF) is True
    assert torch.equal(torch.get_rng_state(), before)


def test_operands_are_not_changed() -> None:
    operand = HALF.clone().requires_grad_()
    assert from_range(torch.square, "square", (operand,), {}, operand.square()) is True
    assert (operand.dtype, operand.grad) == (torch.float16, None)


@pytest.mark.parametrize(
    ("node", "gradients", "ranged"),
    [
        ("Mul", [HALF * HALF], True),
        ("Mul", [None, HALF * HALF], True),
        ("Log", [HALF * HALF], False),
        ("Mul", [HALF], False),
        ("Mul", [torch.tensor([float("inf")])], False),
        ("Mul", [HALF * HALF, torch.tensor([float("nan")])], False),
        ("Mul", [HALF * HALF, torch.ones(1)], True),
        ("Mul", [], False),
    ],
    ids=["overflow", "one of two", "steep", "finite", "float32", "both", "other is finite", "nothing"],
)
def test_nodes_of_finite_slopes_overflow_by_the_range(node: str, gradients: list[Any], ranged: bool) -> None:
    assert overflows_only_by_range(node, gradients) == ranged
