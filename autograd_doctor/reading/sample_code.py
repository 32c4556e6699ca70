"""The program's own code that runs when a data set is read, and what its names stand for."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from autograd_doctor.reading.places import is_own
from autograd_doctor.reading.without_running import attribute, attributes, is_a, unwrapped

_READS = ("__getitem__", "__getitems__", "__iter__")
_MOST = 64
"""Functions to follow: what a data set does for one sample."""


class SampleCode(NamedTuple):
    """Code of the program's that runs for a sample, of a function or of one inside it. owner: the object whose it is.

    names: attributes and variables of the module, and what they stand for there.
    """

    owner: object
    function: FunctionType
    code: CodeType
    names: list[tuple[str, Any]]


def reached(dataset: object) -> Iterator[SampleCode]:
    """All that is found by following what names stand for, from the methods that a loader calls."""
    waiting = [(dataset, method) for name in _READS if (method := _method(dataset, name)) is not None]
    seen: set[tuple[int, int]] = set()
    while waiting and len(seen) < _MOST:
        owner, function = waiting.pop()
        for code in _codes(function.__code__):
            key = id(owner), id(code)
            if key in seen:
                continue
            seen.add(key)
            names = [(name, _meaning(owner, function, name)) for name in code.co_names]
            yield SampleCode(owner, function, code, names)
            for _, value in names:
                if is_a(value, FunctionType) and is_own(value.__code__.co_filename):
                    waiting.append((owner, value))
                elif (called := _called(value, code)) is not None:
                    waiting += [(value, method) for method in called]


def _meaning(owner: object, function: FunctionType, name: str) -> Any:
    """An attribute of the object, a method of its class, or a variable of the module."""
    held = attributes(owner)
    if name in held:
        return held[name]
    method = _method(owner, name)
    return method if method is not None else function.__globals__.get(name)


def _called(value: object, code: CodeType) -> list[FunctionType] | None:
    """What may run of an object that the data set holds, such as a transform or another data set."""
    if is_a(value, (type, FunctionType)) or not attributes(value):
        return None
    names = ("__call__", *_READS, *code.co_names)
    return [method for name in names if (method := _method(value, name)) is not None]


def _method(owner: object, name: str) -> FunctionType | None:
    found = unwrapped(attribute(type(owner), name))
    return found if isinstance(found, FunctionType) and is_own(found.__code__.co_filename) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
