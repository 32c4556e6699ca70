"""Reading the variables of a running frame without leaving a copy of them behind."""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Iterator
from types import FrameType
from typing import Any

from autograd_doctor.reading.without_running import attributes

_KEEPS_COPY = sys.version_info < (3, 13)
_OWN_REFERENCES = 3  # the frame's, ours, and the one that counting takes


def local_variables(frame: FrameType) -> dict[str, Any]:
    """The local variables of a frame.

    Before Python 3.13 a function's frame keeps the dict that `f_locals` returns, and with it every value, until it
    returns: a tensor that the program has deleted would live on. So that dict is emptied, unless the program holds it
    because it called `locals()`. Module and class bodies have no such copy: theirs is the namespace itself.
    """
    cached = frame.f_locals
    copied = dict(cached)
    if _KEEPS_COPY and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(cached) <= _OWN_REFERENCES:
        cached.clear()
    return copied


def variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """The variables that a line of this frame can name: locals, attributes of `self`, globals."""
    local = local_variables(frame)
    yield from ((name, value) for name, value in local.items() if not name.startswith("__"))
    kept = dict(attributes(local.get("self")))
    # A module keeps in dicts what one writes as its attributes.
    for inside in ("_modules", "_parameters", "_buffers"):
        members = kept.pop(inside, None)
        kept.update(members if type(members) in (dict, OrderedDict) else {})
    yield from ((f"self.{name}", value) for name, value in kept.items())
    if frame.f_code.co_name != "<module>":
        yield from ((name, value) for name, value in dict(frame.f_globals).items() if not name.startswith("__"))
