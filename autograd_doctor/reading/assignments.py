"""The lines at which attributes and variables are assigned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from autograd_doctor.findings import Location
from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.loops import instructions_of
from autograd_doctor.reading.places import is_own, locate, own_frame, own_frames

_STORES = frozenset({"STORE_DEREF", "STORE_FAST", "STORE_GLOBAL", "STORE_NAME"})
_CALLS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_MOST_VIEWS = 4


def assigned_in(codes: Iterable[CodeType], attribute: str) -> Location | None:
    """Of the first of these codes that assigns it, the last line that does: earlier ones hold its place."""
    for code in codes:
        stores = [
            instruction.offset
            for instruction in instructions_of(code)
            if instruction.opname == "STORE_ATTR" and instruction.argval == attribute
        ]
        if stores:
            return locate((code, stores[-1]))
    return None


def methods_of(kind: type) -> list[CodeType]:
    """What the program wrote of the methods of a class and its bases, constructors first."""
    found = [
        method.__code__
        for each in kind.__mro__
        for method in vars(each).values()
        if isinstance(method, FunctionType) and is_own(method.__code__.co_filename)
    ]
    return sorted(found, key=lambda code: code.co_name != "__init__")


def changed_at(owner: object, attribute: str) -> Location | None:
    """The line of a running function that assigns an attribute of an object, or that calls the method which does; else
    the line in that method. None where there is none of them."""
    methods = methods_of(type(owner))
    setters = [code for code in methods if code.co_name != "__init__" and assigned_in([code], attribute)]
    called = frozenset(code.co_name for code in setters)
    frames = list(own_frames())
    for opnames, names in ((_CALLS, called), (frozenset({"STORE_ATTR"}), frozenset({attribute}))):
        for frame in frames:
            offsets = list(_offsets(frame, owner, opnames, names))
            above = [offset for offset in offsets if offset < frame.f_lasti]
            if offsets:
                return locate((frame.f_code, (above or offsets)[-1]))
    return assigned_in(setters, attribute)


def _offsets(frame: FrameType, owner: object, opnames: frozenset[str], names: frozenset[str]) -> Iterator[int]:
    """Of the instructions that have to do with these attributes of an object: of a variable that holds it, or of what
    an attribute of something else may hold."""
    holding = {name for name, value in variables(frame) if value is owner}
    one, two = "", ""
    for each in instructions_of(frame.f_code):
        is_attribute = each.opname in opnames and each.argval in names
        if is_attribute and (two in holding or (two.startswith(".") and one != "self") or f"{one}{two}" in holding):
            yield each.offset
        last = each.argval[-1] if type(each.argval) is tuple and each.argval else each.argval
        one, two = two, f".{last}" if each.opname in ("LOAD_ATTR", "BINARY_SUBSCR") else str(last)


def stored_at(array: Any) -> Location | None:
    """Where the variable of the running function, or the attribute of its `self`, was last assigned that holds an array
    of NumPy, or the one of which it is a part; None for other variables, and those that were given as arguments."""
    frame = own_frame()
    if frame is None:
        return None
    parts = [array]
    while len(parts) < _MOST_VIEWS and type(getattr(parts[-1], "base", None)) is type(array):
        parts.append(parts[-1].base)
    held = list(variables(frame))
    for part in reversed(parts):
        name = next((name for name, value in held if value is part), "")
        if name.startswith("self."):
            methods = methods_of(type(frame.f_locals.get("self")))
            return assigned_in(reversed(methods), name.removeprefix("self."))
        if name:
            return _assigned_before(frame, name)
    return None


def _assigned_before(frame: FrameType, name: str) -> Location | None:
    """The last assignment of a variable above the running line; in a loop, it may stand below."""
    stores = [
        instruction.offset
        for instruction in instructions_of(frame.f_code)
        if instruction.opname in _STORES and instruction.argval == name
    ]
    above = [offset for offset in stores if offset < frame.f_lasti]
    return locate((frame.f_code, (above or stores)[-1])) if stores else None
