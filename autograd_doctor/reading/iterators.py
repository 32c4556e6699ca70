"""Iterators of Python's own making: whether one has come to its end, told without asking it for more."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterable
from types import GeneratorType

_CONTAINERS: tuple[Iterable[object], ...] = ([], (), set(), {}, {}.values(), {}.items(), range(0), reversed([]))
_OVER_CONTAINERS = frozenset[type](type(iter(container)) for container in _CONTAINERS)
_ENDING_WITH_OTHERS: frozenset[type] = frozenset({zip, map, filter, enumerate, itertools.starmap})
_LETTING_GO: frozenset[type] = frozenset({itertools.chain, itertools.islice})
_NESTING = 4
"""Iterators over iterators over iterators to look into."""


def is_plain_iterator(thing: object) -> bool:
    """Whether it is one of those whose end can be told."""
    kind = type(thing)
    return kind is GeneratorType or kind in _OVER_CONTAINERS or kind in _ENDING_WITH_OTHERS or kind in _LETTING_GO


def is_used_up(iterator: object, nesting: int = _NESTING) -> bool:
    """Whether nothing will come any more, of an iterator whose end can be told.

    A generator that has returned has no frame. Of those over others, some end with the first of them, and some hold
    none any more then: what an iterator holds is what the garbage collector would visit.
    """
    kind = type(iterator)
    if kind is GeneratorType:
        return iterator.gi_frame is None  # type: ignore[attr-defined]
    if kind in _OVER_CONTAINERS:
        return iterator.__length_hint__() == 0  # type: ignore[attr-defined,no-any-return]
    held = [each for each in _held(iterator) if is_plain_iterator(each)]
    if kind in _LETTING_GO:
        return not held
    return nesting > 0 and any(is_used_up(each, nesting - 1) for each in held)


def _held(iterator: object) -> list[object]:
    """What it refers to, also in the tuple in which some keep their iterators."""
    found: list[object] = []
    for each in gc.get_referents(iterator):
        found += each if type(each) is tuple else [each]
    return found
