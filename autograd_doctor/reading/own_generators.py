"""Random generators of a data set's own from which reading it draws, as far as its code and what it holds tell."""

from __future__ import annotations

import dis
import random
import sys
from types import CodeType

import torch

from autograd_doctor.reading.sample_code import reached
from autograd_doctor.reading.without_running import attribute, is_a

_SEEDING = frozenset({
    "bit_generator", "get_worker_info", "initial_seed", "jumped", "manual_seed", "seed", "set_state", "setstate",
    "spawn",
})  # fmt: skip
"""What code that gives each worker numbers of its own calls on."""


def generators_of(dataset: object) -> list[tuple[object, str]]:
    """The generators that reading a sample draws from, and the attributes or variables that hold them.

    None where that code seeds, or keeps another one under a name that it draws from: each worker may then have its own.
    """
    found: dict[int, tuple[object, str]] = {}
    stored: set[str] = set()
    for owner, _, code, names in reached(dataset):
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


def _stored_in(code: CodeType) -> set[str]:
    return {each.argval for each in dis.get_instructions(code) if each.opname in ("STORE_ATTR", "STORE_GLOBAL")}
