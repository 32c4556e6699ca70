"""What the user would type for an object: `optimizer`, `self.critic`, `weights[0]`.

It is looked up in the variables of the user's frames, innermost first.
"""

from __future__ import annotations

from types import FrameType, FunctionType, ModuleType
from typing import Any

from autograd_doctor.reading.frame_locals import variables
from autograd_doctor.reading.places import own_frames

_CONTAINER_LIMIT = 64


def variable_name(wanted: object, frame: FrameType | None = None) -> str:
    """The user's name for an object, "" if no frame of the user's names it; other objects are looked into one level."""
    for own in own_frames(frame):
        inside = ""
        for name, value in variables(own):
            if value is wanted:
                return name
            inside = inside or _inside(name, value, wanted) or _attribute(name, value, wanted)
        if inside:
            return inside
    return ""


def _inside(name: str, container: Any, wanted: object) -> str:
    if isinstance(container, list | tuple) and len(container) <= _CONTAINER_LIMIT:
        return next((f"{name}[{index}]" for index, value in enumerate(container) if value is wanted), "")
    if isinstance(container, dict) and len(container) <= _CONTAINER_LIMIT:
        return next(
            (f"{name}[{key!r}]" for key, value in container.items() if value is wanted and isinstance(key, str | int)),
            "",
        )
    return ""


def _attribute(name: str, holder: object, wanted: object) -> str:
    """The attribute under which an instance holds an object, read past `__getattr__`: proxies would wake up."""
    if isinstance(holder, type | ModuleType | FunctionType):
        return ""
    try:
        attributes = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return ""
    if len(attributes) > _CONTAINER_LIMIT:
        return ""
    return next((f"{name}.{key}" for key, value in list(attributes.items()) if value is wanted), "")


def series_name(wanted: object, frame: FrameType | None = None) -> str:
    """The user's name for a member of a series whose other members have no variables of their own, "" elsewhere.

    A variable that holds it then is a loop's: it names each member in turn, and the last one ever after.
    """
    for own in own_frames(frame):
        held = dict(variables(own))
        named = {id(value) for value in held.values()}
        for name, container in held.items():
            inside = _inside(name, container, wanted)
            members = container.values() if isinstance(container, dict) else container if inside else ()
            if inside and any(type(member) is type(wanted) and id(member) not in named for member in members):
                return inside
    return ""
