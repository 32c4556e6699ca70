"""Looking at objects of the program without running anything of it: no property, `__getattr__` or `__class__`.

`getattr`, `hasattr`, `vars`, `isinstance`, `==`, `len` and iteration may all call what a class of the program defines;
a module may import another one when it is asked for an attribute.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, cast

_MRO = type.__dict__["__mro__"]
_NAMESPACE = type.__dict__["__dict__"]
_KEEPING = (GetSetDescriptorType, MemberDescriptorType)


def is_a(thing: object, kind: type | tuple[type, ...]) -> bool:
    """As `isinstance`, by the real type alone."""
    return issubclass(type(thing), kind)


def is_array(thing: Any) -> bool:
    """Whether it is an array of NumPy, and neither one of its numbers, which have a dtype, too, nor of a subclass."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(thing) is numpy.ndarray


def attributes(thing: object) -> dict[str, Any]:
    """The `__dict__` of an object, {} if it has none or its class says what that is."""
    for klass in _MRO.__get__(type(thing)):
        descriptor = _NAMESPACE.__get__(klass).get("__dict__")
        if descriptor is not None:
            found = descriptor.__get__(thing) if type(descriptor) in _KEEPING else {}
            return found if type(found) is dict else {}
    return {}


def remade(record: object, change: Callable[[Any], Any]) -> Any:
    """A named tuple, or a dataclass whose fields are attributes, with each of its values changed; None for others."""
    kind: Any = type(record)
    if issubclass(kind, tuple) and "_fields" in _NAMESPACE.__get__(kind):
        return tuple.__new__(kind, map(change, tuple.__iter__(cast("tuple[Any, ...]", record))))
    held = attributes(record)
    fields = attribute(kind, "__dataclass_fields__", {})
    if not fields or not set(fields) <= set(held) or attribute(kind, "__new__") is not object.__new__:
        return None
    made = object.__new__(kind)
    attributes(made).update({name: change(value) for name, value in held.items()})
    return made


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
