"""The modules, parameters and buffers that a module registers, as `named_modules` and its like tell them.

Those may be overridden, and they call the `__hash__` of every module that they pass.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.jit._script import OrderedDictWrapper, OrderedModuleDict

from autograd_doctor.reading.without_running import attributes

_PLAIN = (dict, OrderedDict)
"""What modules keep those in that they register, the latter in an older torch."""
_TABLES: tuple[Any, ...] = (dict, OrderedModuleDict, OrderedDictWrapper)
"""All that they may keep them in; the last two are those of scripted and traced ones."""


def modules_in(root: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Paths and modules below (and including) a module, each once."""
    return ((path, module) for path, module, _ in _walk(root, prefix))


def parameters_in(root: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return _leaves(root, "_parameters")


def has_parameters(root: nn.Module) -> bool:
    """Whether there are any in it, or in a module below it."""
    return next(parameters_in(root), None) is not None


def buffers_in(root: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    return _leaves(root, "_buffers")


def children_of(module: nn.Module) -> dict[str, nn.Module]:
    return dict(_entries(_kept(module), "_modules"))


def parameters_of(module: nn.Module) -> dict[str, nn.Parameter]:
    """A module's own parameters, without those of modules below it."""
    return dict(_entries(_kept(module), "_parameters"))


def _walk(root: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module, dict[str, Any]]]:
    """Every module with its path and attributes. It is done for whole models in every step, so it calls little."""
    seen: set[int] = set()
    waiting = [(prefix, root)]
    while waiting:
        path, module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            kept = _kept(module)
            yield path, module, kept
            below = f"{path}." if path else ""
            for name, inner in reversed(_entries(kept, "_modules")):
                waiting.append((below + name, inner))


def _leaves(root: nn.Module, table: str) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    for path, _, kept in _walk(root):
        below = f"{path}." if path else ""
        for name, leaf in _entries(kept, table):
            if id(leaf) not in seen:
                seen.add(id(leaf))
                yield below + name, leaf


def _kept(module: nn.Module) -> dict[str, Any]:
    """The attributes of a module, among them the tables of what it registers."""
    kept = attributes(module)
    return attributes(kept["_actual_script_module"]) if "_actual_script_module" in kept else kept  # a traced one


def _entries(kept: dict[str, Any], table: str) -> list[tuple[str, Any]]:
    entries: Any = kept.get(table)
    kind: Any = type(entries)
    if kind in _PLAIN and not entries:
        return []
    if kind not in _PLAIN:
        kind = next((table for table in _TABLES if issubclass(kind, table)), None)
    return [entry for entry in kind.items(entries) if entry[1] is not None] if kind is not None else []
