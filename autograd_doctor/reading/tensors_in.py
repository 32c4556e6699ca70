"""The tensors in arguments, results and whatever a forward returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

EVERYTHING = 4
"""Levels to look into where a whole result is meant: nested sequences, mappings and dataclasses."""


def tensors_in(values: Iterable[Any], nesting: int = 1) -> list[torch.Tensor]:
    """Tensors among values in their order, `nesting` levels deep into sequences and mappings.

    From two levels on, attributes of other objects count as well: a forward may return a dataclass.
    """
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif nesting:
            found += tensors_in(_members(value, attributes=nesting > 1), nesting - 1)
    return found


def _members(value: Any, *, attributes: bool) -> Iterable[Any]:
    kind = type(value)
    if issubclass(kind, list | tuple):
        return list(value)
    if issubclass(kind, Mapping):
        return list(value.values())
    if attributes and hasattr(kind, "__dict__") and not issubclass(kind, nn.Module | type):
        return list(getattr(value, "__dict__", {}).values())
    return ()
