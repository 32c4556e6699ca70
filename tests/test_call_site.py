"""Which arguments a call was given, and which were left to their defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autograd_doctor.reading.call_site import given_arguments, keeps_result
from autograd_doctor.reading.places import stack


def drop(values: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> frozenset[str] | None:
    return given_arguments(drop)


def through(function: Callable[..., Any]) -> Any:
    return function


ARGUMENTS: Any = (1, 0.5)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        (lambda: drop(1), {"values"}),
        (lambda: drop(1, 0.3), {"values", "p"}),
        (lambda: drop(1, 0.3, False), {"values", "p", "training"}),
        (lambda: drop(1, training=False), {"values", "training"}),
        (lambda: drop(values=1, p=0.1), {"values", "p"}),
        (lambda: through(drop)(1, inplace=True), {"values", "inplace"}),
        (lambda: drop(len([drop(1), drop(2, training=True)]), 0.3), {"values", "p"}),
    ],
)
def test_what_a_call_gives(call: Callable[[], frozenset[str] | None], given: set[str]) -> None:
    assert call() == given


def test_it_cannot_be_told_of_a_call_by_a_sequence_or_by_a_library() -> None:
    assert drop(*ARGUMENTS) is None
    assert sorted([1], key=drop) == [1]
    assert given_arguments(drop) is None


KEPT: list[bool] = []


def load() -> tuple[int, int]:
    KEPT.append(keeps_result(stack()[-2::-1]))
    return 1, 2


def unpacked() -> int:
    first, _second = load()
    return first


def named() -> int:
    result = load()
    return result[0]


def looked_into() -> int:
    return load().index(2)


def closed_over() -> Callable[[], Any]:
    result = load()
    return lambda: result


def passed_on() -> None:
    def again() -> tuple[int, int]:
        return load()

    _first, second = again()
    print(second)


def dropped() -> None:
    load()


def never_read() -> None:
    result = load()  # noqa: F841


def printed() -> None:
    print(load())


@pytest.mark.parametrize("function", [unpacked, named, looked_into, closed_over, passed_on])
def test_results_that_a_program_goes_on_with(function: Callable[[], Any]) -> None:
    function()
    assert KEPT.pop()


@pytest.mark.parametrize("function", [dropped, never_read, printed])
def test_results_that_a_program_leaves_lying(function: Callable[[], Any]) -> None:
    function()
    assert not KEPT.pop()
