"""Who asks torch for something: the person's own code, or a library by itself, which the person cannot change."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import torch
import torch.overrides
from torch.autograd import graph

from autograd_doctor.reading.frame_locals import local_variables
from autograd_doctor.reading.places import is_ours, is_own

_DOORS = frozenset({torch._tensor.__file__, torch.autograd.__file__, graph.__file__})
"""Where `Tensor.backward`, `autograd.backward` and `autograd.grad` are, and what they call."""

_NOT_THE_PROGRAM = ("torch.", f"{__name__.partition('.')[0]}.")
_OVERRIDES = torch.overrides.__file__
_TORCH = os.path.dirname(torch.__file__) + os.sep


@cache
def is_of_torch(path: str) -> bool:
    """Whether a file belongs to torch."""
    return path.startswith(_TORCH)


def is_in_torch_or_ours(frame: FrameType) -> bool:
    """Whether a frame is of a module of torch, or of this package, by its name: what code a frame has tells audit
    hooks."""
    module = frame.f_globals.get("__name__")
    return type(module) is str and (module.startswith(_NOT_THE_PROGRAM) or module == "torch")


def is_call_of_library() -> bool:
    """Whether it is a library that calls the function of torch which is looked at."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_ours(frame.f_code.co_filename) or is_of_torch(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame is not None and not is_own(frame.f_code.co_filename)


def is_called_by_program(function: Callable[..., Any]) -> bool:
    """Whether the program itself calls the function of torch which is looked at, and no other one of torch does."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (is_ours(frame.f_code.co_filename) or frame.f_code.co_filename == _OVERRIDES):
        frame = frame.f_back
    if frame is not None and frame.f_code is getattr(function, "__code__", None):
        frame = frame.f_back
    return frame is not None and is_own(frame.f_code.co_filename)


def asked_by_program(option: str) -> bool:
    """Whether the program itself passed an option to the backward under way, or to the library that it called for it.

    A library passes on what it was given under the same name; what it passes of its own, no person can leave out.
    """
    called = _called_by_program()
    if called is None or called.f_code.co_filename in _DOORS:
        return True
    arguments = inspect.getargs(called.f_code)
    values = local_variables(called)
    rest = values.get(arguments.varkw) if arguments.varkw else None
    return option in arguments.args or (type(rest) is dict and option in rest)


def _called_by_program() -> FrameType | None:
    """The frame that the innermost one of the program called; None where it is ours, or there is no program."""
    frame: FrameType | None = sys._getframe(1)
    called: FrameType | None = None
    while frame is not None and not is_own(frame.f_code.co_filename):
        called = None if is_ours(frame.f_code.co_filename) else frame
        frame = frame.f_back
    return called if frame is not None else None
