"""Iterators of Python's own making: whether one has come to its end, told without asking it for more."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from types import GeneratorType

_ENDING_WITH_OTHERS: frozenset[type] = frozenset({zip, map, filter, enumerate, itertools.starmap})
_NESTING = 4
"""Iterators over iterators over iterators to look into."""


def is_plain_iterator(thing: object) -> bool:
    """Whether it is one of those whose end can be told."""
    kind = type(thing)
    return kind is GeneratorType or kind in _ENDING_WITH_OTHERS or kind in _LETTING_GO


def is_used_up(iterator: object, nesting: int = _NESTING) -> bool:
    """Whether an iterator whose end can be told has come to it: somebody has asked it for more in vain.

    A generator that has returned has no frame. Others let go of what they run over when they have come to its end, or
    end with the first of several: what an iterator holds is what the garbage collector would visit.
    """
    kind = type(iterator)
    if kind is GeneratorType:
        return iterator.gi_frame is None  # type: ignore[attr-defined]
    if kind in _LETTING_GO:
        return not _held(iterator)
    held = [each for each in _held(iterator) if is_plain_iterator(each)]
    return nesting > 0 and any(is_used_up(each, nesting - 1) for each in held)


def _held(iterator: object) -> list[object]:
    """What it refers to, also in the tuple in which some keep their iterators."""
    found: list[object] = []
    for each in gc.get_referents(iterator):
        found += each if type(each) is tuple and type(iterator) in _ENDING_WITH_OTHERS else [each]
    return [each for each in found if not isinstance(each, type)]


def _lets_go(iterator: Iterator[object]) -> bool:
    """Whether this release of Python does so; since 3.13 `reversed` of a list keeps it."""
    for _ in iterator:
        pass
    return not _held(iterator)


_OVER_NOTHING: tuple[Iterator[object], ...] = (
    *(iter([]), iter(()), iter(set()), iter({}), iter({}.values())),
    *(reversed([]), itertools.chain(), itertools.islice((), 0)),
)
_LETTING_GO = frozenset[type](type(each) for each in _OVER_NOTHING if _lets_go(each))
