"""Which arguments a call was given, and which were left to their defaults."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from autograd_doctor.reading.call_site import (
    attribute_read,
    given_arguments,
    is_never_read,
    keeps_nothing,
    keeps_result,
)
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


class Row:
    """Each of its indices and each reading of its attribute makes another one."""

    def __init__(self) -> None:
        self.seen: list[tuple[CodeType, int]] = []

    def __getitem__(self, index: object) -> Row:
        return self._note()

    def __setitem__(self, index: object, value: object) -> None:
        self._note()

    @property
    def weight(self) -> Row:
        return self._note()

    def zero_(self) -> Row:
        return self._note()

    def _note(self) -> Row:
        self.seen.append(stack()[-3])
        return self


def zeroed(row: Row) -> Row:
    return row[0].zero_()


def put(row: Row) -> None:
    row[0][1] = 2


def named(row: Row) -> None:
    kept = row[0]
    kept.zero_()


def named_on_the_way(row: Row) -> None:
    (kept := row[0]).zero_()
    print(kept)


def dropped(row: Row) -> None:
    row[0].zero_()


def dropped_after_others(row: Row) -> None:
    row[len([0, 1, *map(int, "12")])].weight.zero_()


def put_into(row: Row) -> None:
    row[0][1:2] = [3]


def handed_on(row: Row) -> None:
    print(row[0].zero_())


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        (dropped, False),
        (dropped_after_others, False),
        (put, False),
        (put_into, False),
        (named, True),
        (named_on_the_way, True),
        (zeroed, True),
        (handed_on, True),
    ],
)
def test_whether_a_statement_keeps_what_it_has_made(statement: Callable[[Row], None], kept: bool) -> None:
    row = Row()
    statement(row)
    (code, made), *_, (_, changed) = row.seen
    assert keeps_nothing(code, made, changed) is not kept


def changed_and_left(row: Row) -> None:
    copy = row[0]
    copy.zero_()


def changed_by_index(row: Row) -> None:
    copy = row[0]
    copy[1] = 2


def changed_and_read(row: Row) -> None:
    copy = row[0]
    copy.zero_()
    print(copy)


def changed_and_returned(row: Row) -> Row:
    copy = row[0]
    return copy.zero_()


def changed_in_a_closure(row: Row) -> Callable[[], Row]:
    copy = row[0]
    copy.zero_()
    return lambda: copy


@pytest.mark.parametrize(
    ("function", "read"),
    [
        (changed_and_left, False),
        (changed_by_index, False),
        (changed_and_read, True),
        (changed_and_returned, True),
        (changed_in_a_closure, True),
    ],
)
def test_whether_a_variable_is_read(function: Callable[[Row], object], read: bool) -> None:
    row = Row()
    function(row)
    (code, made), (_, changed) = row.seen[:2]
    assert is_never_read(code, made, changed) is not read


def test_which_attribute_an_instruction_reads() -> None:
    row = Row()
    dropped_after_others(row)
    assert [attribute_read(*place) for place in row.seen] == ["", "weight", ""]
