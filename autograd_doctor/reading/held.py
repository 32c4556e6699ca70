"""Copies of what a custom function takes besides tensors, so that calling it again touches nothing of the program.

Floating tensors within a copy are in float64, like the inputs that it goes with: a right backward must not look wrong
for the rounding of a coefficient, or fail for its dtype. What cannot be copied whole is not copied at all.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from autograd_doctor.reading.unnoticed import unnoticed
from autograd_doctor.reading.without_running import attribute, attributes, is_a

PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.Size)
"""What stays as it is: nothing can change it."""
_SHARED = (*PLAIN, bytes, range, slice, type, Enum, FunctionType, BuiltinFunctionType)
"""What a deep copy shares with the original."""
_CONTAINERS = (list, tuple, dict, set, frozenset)

_OF_A_STATEMENT = 1 << 9
"""Of the flags of a class: it was made while the program ran, not in C."""

_MOST_THINGS = 1_000
MOST_ELEMENTS = 1 << 20


class NotHeld(Exception):
    """The object cannot be copied; says why."""


def is_plain(value: Any) -> bool:
    return is_a(value, PLAIN) or (type(value) is tuple and all(map(is_plain, value)))


def held(thing: Any) -> Any:
    """A deep copy with its tensors in double precision; raises `NotHeld` where it cannot be had, or is not enough."""
    if is_plain(thing):
        return thing
    if is_a(thing, BuiltinFunctionType):
        raise NotHeld(f"it takes a `{type(thing).__name__}` besides tensors")
    found = list(_things_in(thing))
    tensors = {id(each): each for each in found if is_a(each, torch.Tensor)}
    if any(tensor.requires_grad for tensor in tensors.values()):
        raise NotHeld(f"it takes a `{type(thing).__name__}` that holds tensors that require grad")
    if sum(each.numel() for each in tensors.values()) + sum(map(_numpy_size, found)) > MOST_ELEMENTS:
        raise NotHeld(f"it takes a `{type(thing).__name__}` that is too large")
    try:
        with unnoticed():
            return copy.deepcopy(thing, {key: doubled(tensor) for key, tensor in tensors.items()})
    except Exception as error:
        raise NotHeld(f"it takes a `{type(thing).__name__}` that cannot be copied: {type(error).__name__}") from error


def is_still(copied: Any, thing: Any) -> bool:
    """Whether an object is what it was when it was copied, by all that it holds.

    Whole numbers may differ: they count what happened, and nothing that is learned passes through them.
    """
    return _is_still(copied, thing, set())


def doubled(tensor: torch.Tensor) -> torch.Tensor:
    """A copy without a graph, in one piece, in double precision if it holds no integers."""
    values = tensor.detach().clone()
    if values.layout is torch.strided:
        values = values.contiguous()
    if values.is_complex():
        return values.to(torch.complex128)
    return values.to(torch.float64) if values.is_floating_point() else values


def _things_in(thing: Any) -> Iterator[Any]:
    """All that an object holds, itself included; raises `NotHeld` for what is not plain data through and through."""
    waiting, seen = [thing], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if len(seen) > _MOST_THINGS:
            raise NotHeld(f"it takes a `{type(thing).__name__}` that is too large")
        yield each
        if is_a(each, (torch.Tensor, *_SHARED)) or _is_numpy(each):
            continue
        if is_a(each, nn.Module) or not (is_a(each, _CONTAINERS) or _is_written_in_python(each)):
            holding = "" if each is thing else f" that holds a `{type(each).__name__}`"
            raise NotHeld(f"it takes a `{type(thing).__name__}` besides tensors{holding}")
        waiting += _members(each)


def _members(thing: Any) -> list[Any]:
    found = [*attributes(thing).values(), *_in_slots(thing)]
    for kind in (list, tuple, set, frozenset):
        if is_a(thing, kind):
            found += kind.__iter__(thing)
    if is_a(thing, dict):
        found += [*dict.keys(thing), *dict.values(thing)]
    return found


def _in_slots(thing: Any) -> Iterator[Any]:
    for klass in type.mro(type(thing)):
        for name, slot in vars(klass).items():
            if type(slot) is MemberDescriptorType and name != "__weakref__" and "__slots__" in vars(klass):
                try:
                    yield slot.__get__(thing)
                except AttributeError:  # nothing has been assigned to it
                    continue


def _is_written_in_python(thing: Any) -> bool:
    """Whether its attributes are all that an object knows, and what it does when called can be read."""
    classes = [klass for klass in type.mro(type(thing)) if klass is not object]
    calling = attribute(thing, "__call__")
    return all(map(_is_class_statement, classes)) and (calling is None or type(calling) is FunctionType)


def _is_class_statement(klass: type) -> bool:
    if klass is SimpleNamespace:
        return True
    keeps = any({"__dict__", "__slots__"} & set(vars(each)) for each in type.mro(klass) if each is not object)
    return keeps and bool(klass.__flags__ & _OF_A_STATEMENT)


def _is_numpy(thing: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and is_a(thing, (numpy.ndarray, numpy.generic, numpy.dtype))


def _numpy_size(thing: Any) -> int:
    numpy = sys.modules.get("numpy")
    return int(thing.size) if numpy is not None and is_a(thing, numpy.ndarray) else 0


def _is_still(copied: Any, thing: Any, met: set[tuple[int, int]]) -> bool:
    if copied is thing or (id(copied), id(thing)) in met:
        return True
    met.add((id(copied), id(thing)))
    if type(copied) is not type(thing):
        return False
    if is_a(thing, torch.Tensor):
        return copied.layout is thing.layout and copied.shape == thing.shape and _is_equal(copied, doubled(thing))
    if _is_numpy(thing):
        return bool(copied.dtype == thing.dtype and copied.shape == thing.shape and copied.tobytes() == thing.tobytes())
    if is_a(thing, _SHARED):
        return type(thing) is int or copied == thing or copied != copied
    parts, others = _members(copied), _members(thing)
    pairs = zip(parts, others, strict=False)
    return len(parts) == len(others) and all(_is_still(part, other, met) for part, other in pairs)


def _is_equal(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Of the sparse layouts, only COO tells its entries in one way; others count as changed."""
    if left.layout is torch.sparse_coo:
        left, right = left.coalesce(), right.coalesce()
        return torch.equal(left.indices(), right.indices()) and torch.equal(left.values(), right.values())
    return left.layout is torch.strided and torch.equal(left, right)
