"""Whether a remainder decides, turn by turn, if a line runs: as where a count is to be a multiple of a number.

A count that goes up by more than one, or no longer, may never be a multiple again, and nobody means that. Where the
order of two values decides as well, as in `step < warmup`, an end was written down. Told by the instructions of the
functions that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType

from autograd_doctor.reading.conditions import ways_on
from autograd_doctor.reading.loops import Loop, instructions_of, loops_around
from autograd_doctor.reading.places import Place

_ENDS = ("STORE_", "POP_TOP")
"""Instructions behind which another statement begins, with those that jump."""


def hangs_on_a_remainder(places: Sequence[Place], spared: Sequence[Place] = ()) -> bool:
    """Whether a remainder decides if the innermost of these places is reached, and no order of two values does.

    places: of a line and of the calls that led there, outermost first. spared: those of another line, which still runs:
    what decides on that as well does not count.
    """
    outermost = next((at for at, each in enumerate(places) if any(loops_around(*each))), None)
    if outermost is None:
        return False
    found = set[Place]()
    for at, (code, offset) in enumerate(places[outermost:]):
        loop = [*loops_around(code, offset)][-1] if at == 0 else None
        others = {jump for other, running in spared if other is code for jump in _deciding(code, running, loop)}
        found |= {(code, jump) for jump in _deciding(code, offset, loop) if jump not in others}
    kinds = {kind for code, jump in found for kind in _kinds(code, jump)}
    return "remainder" in kinds and "order" not in kinds


@cache
def _deciding(code: CodeType, offset: int, loop: Loop | None) -> tuple[int, ...]:
    """The conditional jumps of which one way leads to an instruction and the other spares it, in a turn of a loop or,
    for None, in a call. What leaves the loop does not spare it."""
    instructions = instructions_of(code)
    running = max(each.offset for each in instructions if each.offset <= offset)
    jumps = (each.offset for each in instructions if "POP_JUMP" in each.opname)
    found = []
    for jump in jumps:
        ways = [_met(code, way, loop) for way in ways_on(code)[jump] or ()] if loop is None or jump in loop else []
        leading = [running in met for met, _ in ways]
        if len(set(leading)) > 1 and all(goes_round for _, goes_round in ways):
            found.append(jump)
    return tuple(found)


def _met(code: CodeType, start: int, loop: Loop | None) -> tuple[set[int], bool]:
    """The instructions that may be run from one on until the turn or the call is over, and whether it comes to that."""
    todo, seen, ends = [start], set[int](), False
    while todo:
        at = todo.pop()
        if loop is not None and (at == loop.first or at not in loop):
            ends = ends or at == loop.first
        elif at not in seen:
            seen.add(at)
            after = ways_on(code)[at]
            ends = ends or (loop is None and after is None)
            todo += after or ()
    return seen, ends


def _kinds(code: CodeType, jump: int) -> Iterator[str]:
    """What the condition of a jump computes: a "remainder", an "order" of two values."""
    before = [each for each in instructions_of(code) if each.offset < jump]
    for each in reversed(before):
        if "JUMP" in each.opname or each.opname.startswith(_ENDS):
            return
        if each.opname == "BINARY_OP" and each.argrepr.startswith("%"):
            yield "remainder"
        elif each.opname == "COMPARE_OP" and ("<" in each.argrepr or ">" in each.argrepr):
            yield "order"
