"""Who draws from a loader: may its iterator end early, or would somebody's explicit `next()` fail on that?

Decided from the instruction at which the calling frame stands. A `for` statement, a comprehension, `yield from`,
`enumerate`, `zip`, `map`, `filter` and functions that sum up, such as `sum` and `max`, end with their iterator.
`iter(loader)` in the user's own code, and every other call, may be followed by a `next()` that expects no end: such
passes are left whole, and so are those of a generator whose own consumer calls `next()`. The frameworks named below
call `iter()` themselves and handle its end.
"""

from __future__ import annotations

import ast
import dis
import inspect
import sys
from types import FrameType

from autograd_doctor.lent import lent
from autograd_doctor.reading.frame_locals import local_variables

_Source = lent("executing").Source
FRAMEWORKS = ("lightning", "pytorch_lightning", "lightning_fabric", "accelerate", "transformers")

_LOOPS = {"GET_ITER", "GET_YIELD_FROM_ITER", "FOR_ITER", "SEND"}
_COPING = (enumerate, zip, map, filter, sum, max, min, any, all)
"""Built-ins that end with their iterator, without saying how many entries there were."""
_OURS = __name__.partition(".")[0]


def ends_with_the_iterator() -> bool:
    """Whether the code that asked for an iterator of a loader copes with an early end of it."""
    frame = _caller()
    while frame is not None:
        generator = bool(frame.f_code.co_flags & inspect.CO_GENERATOR)
        if not (_in(frame, FRAMEWORKS) or _is_loop(frame)):
            return False
        if not generator:
            return True
        frame = frame.f_back
    return False


def is_within(packages: tuple[str, ...]) -> bool:
    """Whether the code that called into torch belongs to one of these packages."""
    frame = _caller()
    return frame is not None and _in(frame, packages)


def _caller() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _in(frame, (_OURS,)):
        frame = frame.f_back
    return frame


def _in(frame: FrameType, packages: tuple[str, ...]) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.partition(".")[0] in packages


def _is_loop(frame: FrameType) -> bool:
    names = [dis.opname[opcode] for opcode in frame.f_code.co_code[frame.f_lasti :: 2]]
    if names[0] in _LOOPS:
        return True
    following = next((name for name in names[1:] if name != "CACHE"), "")
    return following == "GET_ITER" or any(_called(frame) is each for each in _COPING)


def _called(frame: FrameType) -> object:
    """What a frame is calling by a plain name; None if that is another kind of call, or cannot be told."""
    node = _Source.executing(frame).node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    scopes = (local_variables(frame), frame.f_globals, frame.f_builtins)
    return next((scope[node.func.id] for scope in scopes if node.func.id in scope), None)
