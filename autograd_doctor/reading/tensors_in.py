"""The tensors in arguments, results and whatever a forward returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from autograd_doctor.reading.without_running import attributes

EVERYTHING = 4
"""Levels to look into where a whole result is meant: nested sequences, mappings and dataclasses."""


def tensors_in(values: Iterable[Any], nesting: int = 1) -> list[torch.Tensor]:
    """Tensors among values in their order, `nesting` levels deep into sequences and mappings.

    From two levels on, attributes of other objects count as well: a forward may return a dataclass. Nothing of theirs
    is called.
    """
    found: list[torch.Tensor] = []
    for value in values:
        kind = type(value)
        if kind is torch.Tensor or issubclass(kind, torch.Tensor):
            found.append(value)
        elif nesting and not (value is None or kind is int or kind is float or kind is bool):
            found += tensors_in(_members(value, attributes_too=nesting > 1), nesting - 1)
    return found


def _members(value: Any, *, attributes_too: bool) -> Iterable[Any]:
    kind = type(value)
    if issubclass(kind, list):
        return list(list.__iter__(value))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(value))
    if issubclass(kind, dict):
        return list(dict.values(value))
    return list(attributes(value).values()) if attributes_too and not issubclass(kind, nn.Module | type) else ()
