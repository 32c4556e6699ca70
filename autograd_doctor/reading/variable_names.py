"""What the user would type for an object: `optimizer`, `self.critic`, `weights[0]`.

It is looked up in the variables of the user's frames, innermost first.
"""

from __future__ import annotations

from types import FrameType, FunctionType, ModuleType
from typing import Any

from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.places import own_frames
from autograd_doctor.reading.without_running import attributes, is_a

_CONTAINER_LIMIT = 64
"""Entries of a container that a person would name one by one; longer ones hold data."""


def variable_name(wanted: object, frame: FrameType | None = None, *, wrapper: type | None = None) -> str:
    """The user's name for an object, "" if no frame of the user's names it; other objects are looked into one level.

    wrapper: what is one of these and holds no other than it is called in its place, and so gives it its name.
    """
    for own in own_frames(frame):
        held = list(variables(own))
        direct = next((name for name, value in held if value is wanted), "")
        if direct:
            return direct
        found = (_inside(name, value, wanted) or _attribute(name, value, wanted, wrapper) for name, value in held)
        inside = next(filter(None, found), "")
        if inside:
            return inside
    return ""


def _inside(name: str, container: Any, wanted: object) -> str:
    return next((f"{name}[{key!r}]" for key, value in _entries(container) if value is wanted), "")


def _entries(container: Any) -> list[tuple[str | int, Any]]:
    """What a container of moderate length holds, by its keys or places; nothing of its class is called."""
    if is_a(container, dict) and dict.__len__(container) <= _CONTAINER_LIMIT:
        return [(key, value) for key, value in dict.items(container) if type(key) in (str, int)]
    for kind in (list, tuple):
        if is_a(container, kind) and kind.__len__(container) <= _CONTAINER_LIMIT:
            return list(enumerate(kind.__iter__(container)))
    return []


def _attribute(name: str, holder: object, wanted: object, wrapper: type | None) -> str:
    """The attribute under which an instance holds an object."""
    if is_a(holder, (type, ModuleType, FunctionType)):
        return ""
    held = attributes(holder)
    if len(held) > _CONTAINER_LIMIT:
        return ""
    key = next((key for key, value in list(held.items()) if value is wanted), "")
    alike = [value for value in (holder, *held.values()) if wrapper is not None and is_a(value, wrapper)]
    is_wrapped = len(alike) == 2 and alike[0] is holder
    return key and (name if is_wrapped else f"{name}.{key}")


def series_name(wanted: object, frame: FrameType | None = None) -> str:
    """The user's name for a member of a series whose other members have no variables of their own, "" elsewhere.

    A variable that holds it then is a loop's: it names each member in turn, and the last one ever after.
    """
    for own in own_frames(frame):
        held = dict(variables(own))
        named = {id(value) for value in held.values()}
        for name, container in held.items():
            inside = _inside(name, container, wanted)
            members = [value for _, value in _entries(container)] if inside else []
            if inside and any(type(member) is type(wanted) and id(member) not in named for member in members):
                return inside
    return ""
