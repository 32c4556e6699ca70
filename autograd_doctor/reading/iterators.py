"""Iterators of Python's own making: whether one has come to its end, told without asking it for more."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterable
from types import GeneratorType

_CONTAINERS: tuple[Iterable[object], ...] = ([], (), set(), {}, {}.values(), {}.items(), reversed([]))
_OVER_CONTAINERS = frozenset[type](type(iter(container)) for container in _CONTAINERS)
_ENDING_WITH_OTHERS: frozenset[type] = frozenset({zip, map, filter, enumerate, itertools.starmap})
_LETTING_GO: frozenset[type] = _OVER_CONTAINERS | {itertools.chain, itertools.islice}
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
