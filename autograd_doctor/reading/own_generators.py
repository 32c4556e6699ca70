"""Random generators of a data set's own from which reading it draws, as far as its code and what it holds tell."""

from __future__ import annotations

import dis
import random
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import torch

from autograd_doctor.reading.places import is_own
from autograd_doctor.reading.without_running import attribute, attributes, is_a, unwrapped

_READS = ("__getitem__", "__getitems__", "__iter__")
_SEEDING = frozenset({
    "bit_generator", "get_worker_info", "initial_seed", "jumped", "manual_seed", "seed", "set_state", "setstate",
    "spawn",
})  # fmt: skip
"""What code that gives each worker numbers of its own calls on."""
_MOST = 64
"""Functions to follow: what a data set does for one sample."""


def generators_of(dataset: object) -> list[tuple[object, str]]:
    """The generators that reading a sample draws from, and the attributes or variables that hold them.

    None where that code seeds, or keeps another one under a name that it draws from: each worker may then have its own.
    """
    found: dict[int, tuple[object, str]] = {}
    stored: set[str] = set()
    for owner, code, names in _reached(dataset):
        if _SEEDING & set(code.co_names):
            return []
        stored |= _stored_in(code)
        for name, value in names:
            if is_generator(value):
                found.setdefault(id(value), (owner, name))
    return [each for each in found.values() if each[1] not in stored]


def is_generator(value: object) -> bool:
    kinds: tuple[type, ...] = (torch.Generator, random.Random)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kinds = (*kinds, numpy.random.Generator, numpy.random.RandomState)
    return is_a(value, kinds) and not _is_global(value)


def _is_global(value: object) -> bool:
    """Those that loaders seed for each worker."""
    numpy = sys.modules.get("numpy")
    shared: list[object] = [torch.default_generator, attribute(random, "_inst")]
    if numpy is not None:
        shared.append(attribute(numpy.random.mtrand, "_rand"))
    return any(value is each for each in shared)


def _reached(dataset: object) -> Iterator[tuple[object, CodeType, list[tuple[str, Any]]]]:
    """The program's own code that runs for a sample: whose it is, and what its names stand for there."""
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
            yield owner, code, names
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


def _stored_in(code: CodeType) -> set[str]:
    return {each.argval for each in dis.get_instructions(code) if each.opname in ("STORE_ATTR", "STORE_GLOBAL")}
