"""Numbers that are recognised when they come back into a loss, weighted."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.reading.linear import is_multiple

VALUE = 0.7310585975646973
"""What `item()` gives of a float32."""


def single(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


measured = st.floats(1e-6, 1e6).map(single).filter(lambda number: number != float(f"{number:.5e}"))
weights = st.tuples(st.integers(1, 999), st.integers(-6, 3), st.sampled_from([1, -1])).map(
    lambda parts: parts[2] * float(f"{parts[0]}e{parts[1]}")
)


@given(measured, weights)
def test_a_number_times_a_weight_is_recognised(value: float, weight: float) -> None:
    number = weight * value
    if number != float(f"{number:.5e}"):
        assert is_multiple(number, value)


@given(measured, st.integers(1, 100_000))
def test_a_number_divided_by_a_count_is_recognised(value: float, count: int) -> None:
    number = value / count
    if number != float(f"{number:.5e}"):
        assert is_multiple(number, value)


@given(st.floats(), st.floats())
def test_any_two_numbers_can_be_compared(number: float, source: float) -> None:
    assert is_multiple(number, source) in (True, False)


@pytest.mark.parametrize("number", [VALUE, -VALUE, 0.01 * VALUE, VALUE / 37, VALUE**2, 0.5 * (VALUE * VALUE)])
def test_what_people_compute_of_a_number(number: float) -> None:
    assert is_multiple(number, VALUE)


@pytest.mark.parametrize("number", [VALUE + 1, 0.12345 * VALUE, VALUE**3, 1.0, 0.5, 0.0, float("nan"), float("inf")])
def test_other_numbers(number: float) -> None:
    assert not is_multiple(number, VALUE)


@pytest.mark.parametrize("source", [0.75, 1.0, 0.0, 0.1, 3.0, float("nan"), float("-inf")])
def test_nothing_comes_of_numbers_that_may_be_anybodys(source: float) -> None:
    assert not is_multiple(0.4 * source, source)
    assert not is_multiple(VALUE, source)
