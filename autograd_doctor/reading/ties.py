"""What ties a data set to the process that trains: copies of it in workers would go apart, or get in its way.

Asked is what the program's own code uses that reads a sample: attributes, variables of the module and of functions
around it, and all that these hold.
"""

from __future__ import annotations

import argparse
import dis
import io
import logging
import mmap
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset

from autograd_doctor.reading.module_tree import buffers_in, parameters_in
from autograd_doctor.reading.own_generators import is_generator
from autograd_doctor.reading.places import is_own
from autograd_doctor.reading.sample_code import reached
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.without_running import attribute, attributes, closure_of, is_a

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (dict, list, tuple, deque, set, frozenset)
_STILL = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, logging.Logger, torch.dtype, torch.device)
"""What is taken to stay as it is; a logger may be used by several processes."""
_IN_MEMORY = (io.BytesIO, io.StringIO, mmap.mmap)
"""They offer what files do, and a process can have its own, or the same pages."""
_HOLDERS = (Dataset, nn.Module, argparse.Namespace, SimpleNamespace)
"""Objects of libraries that hold what is the program's."""
_LIVE = ("fileno", "__next__")
"""Files and sockets offer the one, iterators the other."""
_LOCK = "acquire"
_CLOSED = ("flush", "cursor", "sync")
"""One of these, and `close`: files that a library of C has opened, and databases."""
_MOST_ENTRIES = 64
"""Of one container, spread over it: what grows or shrinks shows in its length."""
_MOST_THINGS = 2_000
_MOST_BYTES = 1 << 16
"""Of an array whose values are compared."""

State = dict[tuple[int, str], int]
"""By whose name it is and the name, a number for what it stands for."""


def state_of(dataset: object) -> State:
    """What the code uses that reads a sample, to be given to `changed` later."""
    found: State = {}
    for owner, name, value in _used(dataset):
        found.setdefault((id(owner), name), hash(tuple(map(_mark, _inside(value, _without_libraries)))))
    return found


def changed(before: State, after: State) -> str:
    """The name of the first thing that is not what it was; "" where all is."""
    return next((key[1] for key, mark in before.items() if after.get(key, mark) != mark), "")


def live_source(dataset: object) -> str:
    """A file, connection, lock or iterator that reading uses, which processes cannot share; "" without any."""
    for _, name, value in _used(dataset):
        live = value if _offers(value, _LOCK) else next(filter(is_live, _inside(value)), None)
        if live is not None:
            return f"`{name}`, a `{type(live).__name__}`"
    return ""


def _used(dataset: object) -> Iterator[tuple[object, str, Any]]:
    """Whose names the code uses, the names, and what they stand for."""
    for part in filter(_is_read_by_the_program, _inside(dataset)):
        for owner, function, code, names in reached(part):
            variables = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
            for name, value in names:
                if name in variables or name in attributes(owner):
                    yield owner, name, value
                elif (kept := attribute(type(owner), name)) is not None:
                    yield owner, name, kept
            for name, value in closure_of(function).items():
                yield function, name, value


def _is_read_by_the_program(thing: object) -> bool:
    """A data set of the program's, also one in a library's, as in a `Subset`, or a transform."""
    names = ("__getitem__", "__getitems__", "__iter__")
    return not is_a(thing, type) and any(_is_programs(attribute(type(thing), name)) for name in names)


def _is_programs(function: object) -> bool:
    return is_a(function, FunctionType) and is_own(function.__code__.co_filename)  # type: ignore[attr-defined]


def _inside(thing: object, held_by: Callable[[Any], Iterable[Any]] | None = None) -> Iterator[Any]:
    """A thing and what it holds, nearest first."""
    waiting, met = deque([thing]), set[int]()
    while waiting and len(met) < _MOST_THINGS:
        each = waiting.popleft()
        if id(each) not in met or is_a(each, _PLAIN):
            met.add(id(each))
            yield each
            waiting += (held_by or _held_by)(each)


def _without_libraries(thing: Any) -> Iterable[Any]:
    """What a library's object does inside, such as counting, is its own affair."""
    kind = thing if is_a(thing, type) else type(thing)
    followed = is_a(thing, (*_CONTAINERS, *_HOLDERS)) or _is_of_the_program(kind)
    return _held_by(thing) if followed else ()


def _held_by(thing: Any) -> Iterable[Any]:
    if is_a(thing, (*_PLAIN, *_STILL, torch.Tensor)):
        return ()
    if is_a(thing, _CONTAINERS):
        return _some(list(dict.values(thing) if is_a(thing, dict) else _built_in(thing).__iter__(thing)))
    if is_a(thing, nn.Module):
        return (*(tensor for _, tensor in (*parameters_in(thing), *buffers_in(thing))), *attributes(thing).values())
    if is_a(thing, type):
        kept = _kept_by_class(thing)
        return [kept[name] for name in kept if not name.startswith("__")] if _is_of_the_program(thing) else ()
    return attributes(thing).values()


def _is_of_the_program(kind: type) -> bool:
    return any(map(_is_programs, _kept_by_class(kind).values()))


def _kept_by_class(kind: type) -> Mapping[str, Any]:
    kept: Mapping[str, Any] = type.__dict__["__dict__"].__get__(kind)
    return kept


def _built_in(container: object) -> Any:
    """The type whose methods are not the program's."""
    return next(kind for kind in _CONTAINERS if is_a(container, kind))


def _some(entries: list[Any]) -> list[Any]:
    return entries[:: max(1, len(entries) // _MOST_ENTRIES)]


def _mark(thing: Any) -> int:
    """A number that is another one when the thing changes, what it holds left aside."""
    kind = type(thing)
    if kind in _PLAIN:
        return hash((kind, thing))
    if is_a(thing, torch.Tensor):
        return hash((id(thing), version_of(thing)))
    if is_a(thing, _CONTAINERS):
        return hash((kind, _built_in(thing).__len__(thing)))
    if is_generator(thing):
        return hash(bytes(thing.get_state().numpy()) if is_a(thing, torch.Generator) else pickle.dumps(thing))
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray and not thing.dtype.hasobject and thing.nbytes <= _MOST_BYTES:
        return hash(thing.tobytes())
    return id(thing)


def is_live(thing: object) -> bool:
    """Whether it is a file, a connection or an iterator, of which a copy in another process is none of its own."""
    if is_a(thing, (Dataset, nn.Module, type, *_IN_MEMORY)):
        return False
    closes = _offers(thing, "close") and any(_offers(thing, name) for name in _CLOSED)
    return closes or any(_offers(thing, name) for name in _LIVE)


def _offers(thing: object, name: str) -> bool:
    found = attribute(type(thing), name)
    return found is not None and not _is_programs(found)
