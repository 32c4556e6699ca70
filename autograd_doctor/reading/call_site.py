"""How a function of Python is being called: which of its arguments were written down, and which left to defaults.

Told by the instruction that calls it. Torch's own wrappers hand all arguments on, so that a function mode cannot tell.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType

from autograd_doctor.reading.places import is_own


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
    instructions = [each for each in dis.get_instructions(code) if each.offset <= offset]
    if not instructions or instructions[-1].opname not in ("CALL", "CALL_KW"):
        return None
    names = _keywords(code, instructions)
    positional = (instructions[-1].arg or 0) - len(names)
    return frozenset([*parameters[:positional], *names])


def _keywords(code: CodeType, instructions: list[dis.Instruction]) -> tuple[str, ...]:
    """The names of keyword arguments: up to Python 3.12 `KW_NAMES` sets them, later ones push them as a constant."""
    if instructions[-1].opname == "CALL_KW":
        return tuple(instructions[-2].argval)
    before = next((each for each in reversed(instructions[:-1]) if each.opname != "PRECALL"), instructions[-1])
    return tuple(code.co_consts[before.arg or 0]) if before.opname == "KW_NAMES" else ()
