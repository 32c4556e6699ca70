"""Loops of the program's functions, by their instructions."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache, lru_cache
from types import CodeType
from typing import NamedTuple

_MOST_KEPT = 128
"""Code objects, of which a program runs a few, and more only where it makes them anew."""


class Loop(NamedTuple):
    """From the first instruction that is run again to the last that jumps back to it: offsets in a code object."""

    first: int
    last: int

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.first <= offset <= self.last


def loops_around(code: CodeType, offset: int) -> Iterator[Loop]:
    """The loops that an instruction is in, innermost first."""
    around = [loop for loop in _loops(code) if offset in loop]
    yield from sorted(around, key=lambda loop: loop.last - loop.first)


@lru_cache(maxsize=_MOST_KEPT)
def instructions_of(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Those of a code object, taken apart once: of a long script it takes as long as a few of its steps."""
    return tuple(dis.get_instructions(code))


@cache
def _loops(code: CodeType) -> tuple[Loop, ...]:
    ends: dict[int, int] = {}
    for instruction in instructions_of(code):
        target = instruction.argval
        if "JUMP" in instruction.opname and isinstance(target, int) and target <= instruction.offset:
            ends[target] = max(instruction.offset, ends.get(target, 0))
    return tuple(Loop(first, last) for first, last in ends.items())
