"""What a value is the sum, the difference or a multiple of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from autograd_doctor.summands import parts_of, summands
from autograd_doctor.tape import Value
from tests.tapes import data, given, made


def parts_among(value: Value, *asked: Value) -> list[tuple[int, int, float | None]] | None:
    """For each part its place among the values asked for, its sign, and its factor."""
    assert value.by is not None
    parts = summands(value.by)
    return None if parts is None else [(asked.index(part.value), part.sign, part.factor) for part in parts]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a, b: made("add", a, b), [(0, 1, 1.0), (1, 1, 1.0)]),
        (lambda a, b: made("sub", a, b), [(0, 1, 1.0), (1, -1, -1.0)]),
        (lambda a, b: made("sub", a, b, alpha=2), [(0, 1, 1.0), (1, -1, -2.0)]),
        (lambda a, b: made("add", a, 0.5, b), [(0, 1, 1.0), (1, 1, 0.5)]),
        (lambda a, b: made("add", a, 3.0), [(0, 1, 1.0)]),
        (lambda a, b: made("sub", 3.0, a), [(0, -1, -1.0)]),
        (lambda a, b: made("lerp", a, b, 0.25), [(0, 1, 0.75), (1, 1, 0.25)]),
        (lambda a, b: made("lerp", a, b, weight=2.0), [(0, -1, -1.0), (1, 1, 2.0)]),
        (lambda a, b: made("stack", a, b), [(0, 1, 1.0), (1, 1, 1.0)]),
        (lambda a, b: made("mean", a), [(0, 1, 1.0)]),
        (lambda a, b: made("__getitem__", a, b), [(0, 1, 1.0)]),
        (lambda a, b: made("neg", a), [(0, -1, -1.0)]),
        (lambda a, b: made("mul", -2.0, a), [(0, -1, -2.0)]),
        (lambda a, b: made("div", a, 4.0), [(0, 1, 0.25)]),
        (lambda a, b: made("div", a, 0), [(0, 0, None)]),
        (lambda a, b: made("mul", a, data(span=(-3.0, -3.0))), [(0, -1, -3.0)]),
        (lambda a, b: made("mul", data(6, span=(0.0, 2.0)), a), [(0, 1, None)]),
        (lambda a, b: made("mul", data(6, span=(0.0, 0.0)), a), [(0, 0, 0.0)]),
        (lambda a, b: made("mul", a, data(6)), [(0, 0, None)]),
        (lambda a, b: made("matmul", a, data(6, 6, span=(1.0, 1.0))), [(0, 1, None)]),
    ],
)
def test_a_sum_or_a_multiple(build: Callable[[Value, Value], Value], expected: list[object]) -> None:
    sides = given(6), given(6)
    assert parts_among(build(*sides), *sides) == expected


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: made("mul", a, b),
        lambda a, b: made("mul", a, a),
        lambda a, b: made("div", 1.0, a),
        lambda a, b: made("div", data(6), a),
        lambda a, b: made("exp", a),
        lambda a, b: made("lerp", a, b, given(6)),
        lambda a, b: made("add", a, b, alpha=data()),
    ],
    ids=["a product", "a square", "a reciprocal", "a quotient", "a curve", "weights", "an unknown factor"],
)
def test_anything_else(build: Callable[[Value, Value], Value]) -> None:
    assert parts_among(build(given(6), given(6))) is None


def test_all_that_a_loss_is_the_sum_of_each_once_with_its_sign() -> None:
    near, far = given(6), given(6)
    gap = made("sub", near, far)
    twice = made("add", gap, made("neg", far))
    loss = made("mul", made("mean", twice), data(span=(2.0, 2.0)))
    signs = {(value, sign) for value, sign in parts_of(loss) if value in (near, far, gap)}
    assert signs == {(near, 1), (gap, 1), (far, -1)}
    assert len(list(parts_of(loss))) == 7
