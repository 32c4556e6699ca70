"""The lines at which methods assign an attribute."""

from __future__ import annotations

import dis
from collections.abc import Iterable
from types import CodeType, FunctionType

from autograd_doctor.findings import Location
from autograd_doctor.reading.places import is_own, locate


def assigned_in(codes: Iterable[CodeType], attribute: str) -> Location | None:
    """Of the first of these codes that assigns it, the last line that does: earlier ones hold its place."""
    for code in codes:
        stores = [
            instruction.offset
            for instruction in dis.get_instructions(code)
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
