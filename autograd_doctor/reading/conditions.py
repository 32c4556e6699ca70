"""Whether what the program does now it will do again each time round, or only while something chooses it.

Told by the instructions of the functions that run, from the innermost loop outwards to the outermost one: a way round a
call is a branch not taken this time. What raises is no such way, nor is what leaves the loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from autograd_doctor.reading.loops import Loop, instructions_of, loops_around
from autograd_doctor.reading.places import Place, is_own, own_frames, stack

_TRAINS = "backward"
"""The method of torch, and of the frameworks around it, by which a training is known before it runs."""
_RUNNER = str(Path(__file__).parent.parent / "runner") + os.sep
_STRAIGHT = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"})
_RETURNS = frozenset({"RETURN_VALUE", "RETURN_CONST"})
_RAISES = frozenset({"RAISE_VARARGS", "RERAISE"})


def depends_on_a_choice(innermost: Place | None = None) -> bool:
    """Whether the running line lies on a branch, in one of the program's functions from its training loop on inwards,
    or in a stage that another one may follow.

    innermost: what to ask of in the stead of the running line, which the same function, or one that it called, ran.
    The training loop is the outermost one around it inside the program, which may be a framework's.
    """
    frames = _frames()
    places = [(frame.f_code, frame.f_lasti) for frame in frames]
    if innermost is not None:
        callers = [at + 1 for at, (code, _) in enumerate(places) if code is innermost[0]]
        places = [innermost, *places[callers[0] if callers else 0 :]]
    last = len(places) - 1
    outermost = next((at for at in range(last, -1, -1) if any(loops_around(*places[at]))), last)
    for at, (code, offset) in enumerate(places[: outermost + 1]):
        if is_own(code.co_filename) and _has_way_round(code, offset, once=at < outermost):
            return True
    around = frames[outermost - len(places) :]
    return any(is_own(frame.f_code.co_filename) and _goes_on_training(frame) for frame in around)


def is_in_a_loop() -> bool:
    """Whether the running line, or a call that led to it, may be run again by a loop of the program's."""
    return any(any(loops_around(*place)) for place in stack())


def _frames() -> list[FrameType]:
    """Those that run, innermost first, up to the outermost of the program's functions: what runs these is beyond."""
    frame, frames, outermost = next(own_frames(), None), list[FrameType](), 0
    while frame is not None and not frame.f_code.co_filename.startswith(_RUNNER):
        frames.append(frame)
        outermost = len(frames) if is_own(frame.f_code.co_filename) else outermost
        frame = frame.f_back
    return frames[:outermost]


@cache
def _has_way_round(code: CodeType, offset: int, *, once: bool) -> bool:
    """Whether an instruction can be left out in a turn of one of the loops around it, or, if `once`, in a call."""
    for loop in loops_around(code, offset):
        if _can_avoid(code, offset, loop):
            return True
        offset = loop.first
    return once and _can_avoid(code, offset, None)


def _can_avoid(code: CodeType, offset: int, loop: Loop | None) -> bool:
    """Whether a way from the beginning of the loop back to it, or from that of the function to a return, spares it."""
    following = ways_on(code)
    running = max(at for at in following if at <= offset)  # a call that runs may point behind its instruction
    todo, seen = [loop.first if loop is not None else min(following)], {running}
    while todo:
        at = todo.pop()
        if at in seen or (loop is not None and at not in loop):
            continue
        seen.add(at)
        after = following[at]
        if after is None if loop is None else loop.first in (after or ()):
            return True
        todo += after or ()
    return False


@cache
def ways_on(code: CodeType) -> dict[int, tuple[int, ...] | None]:
    """Per instruction, those that may be run next, but for exceptions; None where the function returns."""
    instructions = instructions_of(code)
    found: dict[int, tuple[int, ...] | None] = {}
    for place, instruction in enumerate(instructions):
        following = [each.offset for each in instructions[place + 1 : place + 2]]
        jumps = [instruction.argval] if "JUMP" in instruction.opname or instruction.opname in _JUMPS else []
        if instruction.opname in _RETURNS:
            found[instruction.offset] = None
        elif instruction.opname in _RAISES:
            found[instruction.offset] = ()
        else:
            found[instruction.offset] = tuple(jumps if instruction.opname in _STRAIGHT else [*following, *jumps])
    return found


_JUMPS = frozenset({"FOR_ITER", "SEND"})
"""Instructions that may jump, and do not say so in their names."""


_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")


def is_chosen(code: CodeType, offset: int, *, of_constants: bool) -> bool:
    """Whether a `with` may enter another context the next time: all but one that a call makes for it right there.

    of_constants: that the call, which may be at the offset itself, decides by its arguments.
    """
    instructions = [each for each in instructions_of(code) if each.opname != "PRECALL"]
    at = max(place for place, each in enumerate(instructions) if each.offset <= offset)
    if not instructions[at].opname.startswith("CALL"):
        if instructions[at].is_jump_target:
            return True
        at -= 1
    is_call = instructions[at].opname.startswith("CALL") and not instructions[at].is_jump_target
    return not is_call or (of_constants and instructions[at - 1].opname not in _CONSTANTS)


# ----------------------------------------------------------------------------------------------------- what comes later


def _goes_on_training(frame: FrameType) -> bool:
    """Whether what the function has behind its loops, or behind the call, trains as well."""
    ends = [loop.last for loop in loops_around(frame.f_code, frame.f_lasti)]
    return _trains(frame.f_code, max(ends, default=frame.f_lasti), frame.f_globals, set())


def _trains(code: CodeType, after: int, variables: Mapping[str, Any], seen: set[CodeType]) -> bool:
    """Whether the instructions behind an offset, or functions of the program that they name, run a backward."""
    names = _names(code, after)
    if _TRAINS in names:
        return True
    for function, around in _functions(code, names, variables):
        if function not in seen:
            seen.add(function)
            if _trains(function, -1, around, seen):
                return True
    return False


_LOADS = (
    *("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_DEREF"),
    *("LOAD_FAST", "STORE_FAST_LOAD_FAST"),
)
"""Instructions that name what they load; since Python 3.13, some name two variables."""


@cache
def _names(code: CodeType, after: int) -> frozenset[str]:
    found = (each for each in instructions_of(code) if each.offset > after and each.opname.startswith(_LOADS))
    named = (each.argval if isinstance(each.argval, tuple) else (each.argval,) for each in found)
    return frozenset(name for names in named for name in names if isinstance(name, str))


def _functions(
    code: CodeType, names: frozenset[str], variables: Mapping[str, Any]
) -> Iterator[tuple[CodeType, Mapping[str, Any]]]:
    """The program's own functions and methods of these names, with the variables that each finds around it."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_name in names:
            yield inner, variables
    spaces = [variables, *(vars(each) for each in list(variables.values()) if type(each) is type)]
    for space in spaces:
        for name in names & space.keys():
            function = space[name]
            if type(function) is FunctionType and is_own(function.__code__.co_filename):
                yield function.__code__, function.__globals__
