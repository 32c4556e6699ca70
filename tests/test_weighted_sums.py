"""What a value is a weighted sum of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given as for_any
from hypothesis import strategies as st

from autograd_doctor.reading.weighted_sums import weights_in
from autograd_doctor.tape import Value
from tests.tapes import data, made

SHAPE = (4,)


def op(name: str, *operands: object, **options: object) -> Value:
    return made(name, *operands, shape=SHAPE, **options)


@pytest.mark.parametrize(
    ("build", "own", "new"),
    [
        (lambda s, p: op("lerp", s, p, 0.1), 0.9, 0.1),
        (lambda s, p: op("lerp", s, p, weight=0.1), 0.9, 0.1),
        (lambda s, p: op("add", op("mul", s, 0.9), op("detach", p), alpha=0.1), 0.9, 0.1),
        (lambda s, p: op("add", op("mul", 0.9, s), op("mul", p, 0.1)), 0.9, 0.1),
        (lambda s, p: op("sub", s, op("mul", op("sub", s, p), 0.1)), 0.9, 0.1),
        (lambda s, p: op("add", s, op("div", op("sub", p, s), 10)), 0.9, 0.1),
        (lambda s, p: op("copy", s, op("add", op("mul", s, 0.5), op("mul", p, 0.5))), 0.5, 0.5),
        (lambda s, p: op("add", s, op("mul", op("sub", s, p), 0.1)), 1.1, -0.1),
        (lambda s, p: op("sub", op("neg", op("neg", s)), p, alpha=2), 1.0, -2.0),
    ],
)
def test_two_weights(build: Callable[[Value, Value], Value], own: float, new: float) -> None:
    average, parameter = data(*SHAPE), data(*SHAPE)
    found = weights_in(build(average, parameter))
    assert found == {average: pytest.approx(own), parameter: pytest.approx(new)}


@pytest.mark.parametrize(
    "build",
    [
        lambda s, p: op("mul", s, p),
        lambda s, p: op("add", s, 1.0),
        lambda s, p: op("div", 1.0, s),
        lambda s, p: op("div", s, 0),
        lambda s, p: op("exp", s),
        lambda s, p: op("add", s, made("sum", p)),
        lambda s, p: op("lerp", s, p, data(1)),
    ],
    ids=["a product", "a shift", "a quotient", "by zero", "a curve", "another shape", "an unknown weight"],
)
def test_what_is_no_weighted_sum_is_itself(build: Callable[[Value, Value], Value]) -> None:
    value = build(data(*SHAPE), data(*SHAPE))
    assert weights_in(value) == {value: 1.0}


@for_any(st.lists(st.tuples(st.sampled_from(["add", "sub"]), st.floats(-2, 2)), max_size=12))
def test_weights_are_what_the_numbers_would_be(steps: list[tuple[str, float]]) -> None:
    """Against the same sum of numbers: 3 for the average, 5 for the parameter."""
    average, parameter = data(*SHAPE), data(*SHAPE)
    value, number = average, 3.0
    for name, alpha in steps:
        value = op(name, value, parameter, alpha=alpha)
        number += 5.0 * alpha if name == "add" else -5.0 * alpha
    found = weights_in(value)
    assert 3.0 * found[average] + 5.0 * found.get(parameter, 0.0) == pytest.approx(number, abs=1e-9)
