"""Loops of the program's functions, by their instructions."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache, lru_cache
from types import CodeType
from typing import Literal, NamedTuple

Access = Literal["LOAD", "STORE"]
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
def counter_of(code: CodeType, loop: Loop) -> str | None:
    """The variable that a `for` statement sets, and nothing else in its code: of several, as by `enumerate`, the first.

    None where the loop is given three arguments, as a `range` of steps is: what goes up by more counts no rounds.
    """
    instructions = instructions_of(code)
    start = [each.offset for each in instructions].index(loop.first)
    if instructions[start].opname != "FOR_ITER" or _is_given_three(instructions[:start]):
        return None
    first, second = (_variables(each, "STORE") for each in instructions[start + 1 : start + 3])
    everywhere = [name for each in instructions for name in _variables(each, "STORE")]
    return next((name for name in (*first, *second) if everywhere.count(name) == 1), None)


@cache
def offsets_of(code: CodeType, name: str, access: Access) -> tuple[int, ...]:
    """Where a variable of that name, or an attribute, is read or set."""
    return tuple(each.offset for each in instructions_of(code) if name in _names(each, access))


@cache
def _loops(code: CodeType) -> tuple[Loop, ...]:
    ends: dict[int, int] = {}
    for instruction in instructions_of(code):
        target = instruction.argval
        if "JUMP" in instruction.opname and isinstance(target, int) and target <= instruction.offset:
            ends[target] = max(instruction.offset, ends.get(target, 0))
    return tuple(Loop(first, last) for first, last in ends.items())


def _is_given_three(before: tuple[dis.Instruction, ...]) -> bool:
    """Whether a call with three arguments made what these instructions end with an iterator of."""
    calls = [each.arg for each in before[-3:] if each.opname == "CALL"]
    return calls[-1:] == [3]


def _variables(instruction: dis.Instruction, access: Access) -> list[str]:
    return [] if instruction.opname.endswith("_ATTR") else _names(instruction, access)


def _names(instruction: dis.Instruction, access: Access) -> list[str]:
    """Since Python 3.13 one instruction may name two variables, and read one and set the other."""
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    accesses = (part for part in instruction.opname.split("_") if part in ("LOAD", "STORE"))
    return [name for name, each in zip(names, accesses, strict=False) if each == access and isinstance(name, str)]
