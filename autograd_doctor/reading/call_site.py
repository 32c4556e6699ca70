"""How a function of Python is being called: which of its arguments were written down, and which left to defaults; and
whether anybody goes on with its result, or with what a statement makes on its way.

Told by the instruction that calls it. Torch's own wrappers hand all arguments on, so that a function mode cannot tell.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import takewhile
from types import CodeType, FrameType

from autograd_doctor.reading.loops import instructions_of
from autograd_doctor.reading.places import Place, is_own

_LOADS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "STORE_FAST_LOAD_FAST")
_PUTS = ("STORE_SUBSCR", "STORE_SLICE")
_CACHE, _LOAD_ATTR, _POP_TOP = (dis.opmap[name] for name in ("CACHE", "LOAD_ATTR", "POP_TOP"))
_LOOKS_INTO = ("LOAD_ATTR", "LOAD_METHOD", "UNPACK_EX")


def given_arguments(function: Callable[..., object]) -> frozenset[str] | None:
    """The parameters of a running function that its caller gave; None if the program does not call it, or by `*args`.

    Only the innermost call that runs counts, and only one from a line of the program's own.
    """
    code = inspect.unwrap(function).__code__
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    caller = frame.f_back if frame is not None else None
    if caller is None or not is_own(caller.f_code.co_filename):
        return None
    return _given(caller.f_code, caller.f_lasti, code.co_varnames[: code.co_argcount])


@cache
def _given(code: CodeType, offset: int, parameters: tuple[str, ...]) -> frozenset[str] | None:
    instructions = [each for each in instructions_of(code) if each.offset <= offset]
    if not instructions or instructions[-1].opname not in ("CALL", "CALL_KW"):
        return None
    names = _keywords(code, instructions)
    positional = (instructions[-1].arg or 0) - len(names)
    return frozenset([*parameters[:positional], *names])


def keeps_result(places: Sequence[Place]) -> bool:
    """Whether the program takes what a call returns and goes on with it. places: its frames, the innermost first.

    What is dropped, or put under a name that nobody reads, is not; nor is what only goes into another call, as into a
    `print`. A function that returns it asks the next frame.
    """
    for code, offset in places:
        following = next((each for each in instructions_of(code) if each.offset > offset), None)
        if following is None or not following.opname.startswith("RETURN_"):
            return following is not None and _takes(code, following)
    return False


@cache
def keeps_nothing(code: CodeType, made: int, changed: int, variable: object = None) -> bool:
    """Whether a statement keeps neither what it has made at one offset nor what became of that at another.

    At `changed` stands the call of an operation in place, or the assignment to an index. variable: one that does not
    count, as nothing reads it.
    """
    start, end = _instruction_at(code, made), _instruction_at(code, changed)
    here = [each for each in instructions_of(code) if each.offset > start]
    if any(_is_store(each) or each.opname == "POP_TOP" for each in here if each.offset < end):
        return False
    last, following, *_ = [*(each for each in here if each.offset >= end), None, None]
    if last is None or following is None:
        return False
    is_dropped = following.opname == "POP_TOP" or (_is_store(following) and _names(following) == (variable,))
    return last.opname.startswith(_PUTS) or is_dropped


@cache
def is_never_read(code: CodeType, made: int, changed: int) -> bool:
    """Whether what is made at one offset gets the name of a local variable, which nothing reads but a statement that
    changes it, at the other offset, and keeps nothing."""
    behind = _instruction_at(code, made)
    store = next((each for each in instructions_of(code) if each.offset > behind), None)
    if store is None or not store.opname.startswith("STORE_FAST"):
        return False
    name = _names(store)[0]
    loads = [each.offset for each in instructions_of(code) if name in _loaded(each)]
    return len(loads) == 1 and loads[0] < changed and keeps_nothing(code, loads[0], changed, name)


@cache
def drops_result(code: CodeType, offset: int) -> bool:
    """Whether what the instruction at an offset gives is thrown away at once."""
    following = offset + 2
    while code.co_code[following] == _CACHE:
        following += 2
    return code.co_code[following] == _POP_TOP


@cache
def attribute_read(code: CodeType, offset: int) -> str:
    """The attribute that an instruction reads; "" if it does something else."""
    start = _instruction_at(code, offset)
    if code.co_code[start] != _LOAD_ATTR:
        return ""
    return next(str(each.argval) for each in instructions_of(code) if each.offset == start)


def _instruction_at(code: CodeType, offset: int) -> int:
    """Where the instruction begins that runs: inside a call of Python, that of a frame points behind its caches."""
    while code.co_code[offset] == _CACHE:
        offset -= 2
    return offset


def _takes(code: CodeType, first: dis.Instruction) -> bool:
    if first.opname == "UNPACK_SEQUENCE":
        behind = (each for each in instructions_of(code) if each.offset > first.offset)
        return any(_reads(code, store) for store in takewhile(_is_store, behind))
    return _reads(code, first) if _is_store(first) else first.opname.startswith(_LOOKS_INTO)


def _is_store(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("STORE_")


def _reads(code: CodeType, store: dis.Instruction) -> bool:
    """Whether some other instruction reads what one puts under a name; functions within may, if they can."""
    loads = {name for each in instructions_of(code) for name in _loaded(each)}
    return store.opname == "STORE_DEREF" or not loads.isdisjoint(_names(store))


def _loaded(instruction: dis.Instruction) -> tuple[object, ...]:
    """The names of the variables that it reads."""
    is_load = instruction.opname.startswith(_LOADS)
    return _names(instruction)[_is_store(instruction) :] if is_load else ()


def _names(instruction: dis.Instruction) -> tuple[object, ...]:
    """From Python 3.13 on, one instruction may be about two of them."""
    named: object = instruction.argval
    return named if isinstance(named, tuple) else (named,)


def _keywords(code: CodeType, instructions: list[dis.Instruction]) -> tuple[str, ...]:
    """The names of keyword arguments: up to Python 3.12 `KW_NAMES` sets them, later ones push them as a constant."""
    if instructions[-1].opname == "CALL_KW":
        return tuple(instructions[-2].argval)
    before = next((each for each in reversed(instructions[:-1]) if each.opname != "PRECALL"), instructions[-1])
    return tuple(code.co_consts[before.arg or 0]) if before.opname == "KW_NAMES" else ()
