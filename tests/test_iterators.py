"""Iterators whose end is told without asking them, and the loops that instructions are in."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from autograd_doctor.reading.iterators import is_plain_iterator, is_used_up
from autograd_doctor.reading.loops import loops_around


def _counting(length: int) -> Iterator[int]:
    yield from range(length)


MAKERS: dict[str, Callable[[int], Iterator[Any]]] = {
    "generator": _counting,
    "expression": lambda length: (each for each in range(length)),
    "list": lambda length: iter(list(range(length))),
    "set": lambda length: iter(set(range(length))),
    "dict": lambda length: iter(dict.fromkeys(range(length), 0)),
    "values": lambda length: iter(dict.fromkeys(range(length), 0).values()),
    "tuple": lambda length: iter(tuple(range(length))),
    "zip": lambda length: zip([0] * length, itertools.count()),
    "zip of generators": lambda length: zip(_counting(length + 2), _counting(length), strict=False),
    "map": lambda length: map(str, [0] * length),
    "enumerate": lambda length: enumerate(_counting(length)),
    "enumerated zip": lambda length: enumerate(zip([0] * length, [1] * length, strict=True)),
    "filter": lambda length: filter(lambda each: each >= 0, [0] * length),
    "chain": lambda length: itertools.chain(_counting(length), []),
    "slice": lambda length: itertools.islice(_counting(length + 3), length),
}
if sys.version_info < (3, 13):  # since then, one that has come to its end looks like one that stands before it
    MAKERS["reversed"] = lambda length: reversed(list(range(length)))


@given(kind=st.sampled_from(sorted(MAKERS)), length=st.integers(0, 5), taken=st.integers(0, 7))
def test_it_is_told_after_the_end_and_not_before(kind: str, length: int, taken: int) -> None:
    iterator = MAKERS[kind](length)
    assert is_plain_iterator(iterator)
    met_the_end = any(next(iterator, None) is None for _ in range(taken))
    assert is_used_up(iterator) is met_the_end
    assert is_used_up(iterator) <= (not list(iterator))
    assert is_used_up(iterator)


def test_nothing_is_asked_of_what_the_program_defines() -> None:
    class Reader:
        def __iter__(self) -> Reader:
            return self

        def __next__(self) -> int:
            raise AssertionError("it was asked for more")

        def __length_hint__(self) -> int:
            raise AssertionError("it was asked for its length")

    assert not is_plain_iterator(Reader())
    assert not is_used_up(zip(Reader(), Reader(), strict=True))


def test_the_innermost_loop_comes_first() -> None:
    def place() -> tuple[Any, int]:
        frame = sys._getframe(1)
        return frame.f_code, frame.f_lasti

    found: list[tuple[Any, int]] = []
    before = place()
    for _ in range(1):
        found.append(place())
        waiting = 1
        while waiting:
            waiting -= 1
            found.append(place())
    after = place()
    (outer,) = loops_around(*found[0])
    inner, around = loops_around(*found[1])
    assert around == outer
    assert found[1][1] in inner
    assert found[0][1] not in inner
    assert not [*loops_around(*before), *loops_around(*after)]
