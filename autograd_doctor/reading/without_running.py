"""Looking at objects of the program without running anything of it: no property, `__getattr__` or `__class__`.

`getattr`, `hasattr`, `vars`, `isinstance`, `==`, `len` and iteration may all call what a class of the program defines;
a module may import another one when it is asked for an attribute.
"""

from __future__ import annotations

import contextlib
import inspect
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

_MRO = type.__dict__["__mro__"]
_NAMESPACE = type.__dict__["__dict__"]
_KEEPING = (GetSetDescriptorType, MemberDescriptorType)


def is_a(thing: object, kind: type | tuple[type, ...]) -> bool:
    """As `isinstance`, by the real type alone."""
    return issubclass(type(thing), kind)


def attributes(thing: object) -> dict[str, Any]:
    """The `__dict__` of an object, {} if it has none or its class says what that is."""
    for klass in _MRO.__get__(type(thing)):
        descriptor = _NAMESPACE.__get__(klass).get("__dict__")
        if descriptor is not None:
            found = descriptor.__get__(thing) if type(descriptor) in _KEEPING else {}
            return found if type(found) is dict else {}
    return {}


def attribute(thing: object, name: str, default: Any = None) -> Any:
    """What an object keeps or its class defines under a name; properties and the like are not asked."""
    return inspect.getattr_static(thing, name, default)


def unwrapped(function: object) -> object:
    """The function below static methods and decorators that say what they wrap."""
    for _ in range(64):  # a function may say that it wraps itself
        if type(function) in (staticmethod, classmethod):
            function = function.__func__  # type: ignore[attr-defined]
        elif type(function) is FunctionType and "__wrapped__" in function.__dict__:
            function = function.__dict__["__wrapped__"]
        else:
            return function
    return None


def closure_of(function: FunctionType) -> dict[str, Any]:
    """The variables of functions around it that a function uses, and what they stand for."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # nothing has been assigned to it
            found[name] = cell.cell_contents
    return found
