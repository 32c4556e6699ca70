"""What a line makes over and over, and whether it grows."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.reading.places import Place
from autograd_doctor.reading.repeated_sizes import RepeatedSizes

HERE: Place = (sys._getframe().f_code, 0)


def noted(*lines: list[float]) -> RepeatedSizes:
    sizes = RepeatedSizes()
    for number, line in enumerate(lines):
        for size in line:
            sizes.note(HERE, f"operation_{number}", size)
    return sizes


def test_the_line_that_became_largest_is_told_of_by_powers_of_two() -> None:
    grown = noted([1.0] * 20, [3.0**call for call in range(20)], [4.0**call for call in range(21)]).fastest()
    assert grown is not None
    assert (grown.operation, grown.calls) == ("operation_2", 21)
    assert grown.sizes == [4.0**call for call in (0, 1, 3, 7, 15, 20)]


def test_at_a_power_of_two_the_last_call_is_told_of_once() -> None:
    grown = noted([10.0**call for call in range(16)]).fastest()
    assert grown is not None
    assert grown.sizes == [10.0**call for call in (0, 1, 3, 7, 15)]


def test_what_does_not_grow_ever_on_and_by_far_is_nothing() -> None:
    few = [100.0**call for call in range(7)]
    up_and_down = [1.0, 1.0, 1.0, 1e9, 1.0, 1.0, 1.0, 1e3, *[1e10] * 8]
    assert noted([1.5**call for call in range(20)], few, up_and_down).fastest() is None


def test_a_state_that_begins_at_zero() -> None:
    assert noted([0.0, *(10.0**call for call in range(20))]).fastest() is not None


@given(st.lists(st.floats(0, 1e30), max_size=70))
def test_any_sizes(sizes: list[float]) -> None:
    grown = noted(sizes).fastest()
    assert grown is None or (grown.sizes[-1] == sizes[-1] and grown.calls == len(sizes))
