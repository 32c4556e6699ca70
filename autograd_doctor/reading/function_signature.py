"""What functions take, and of a custom `autograd.Function` those parameters of its `forward` that `apply` passes on."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any

import torch

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)


_OPTIONS: dict[str, Any] = {}
if sys.version_info >= (3, 14):  # annotations are evaluated when they are asked for, and may name what is not there
    _OPTIONS["annotation_format"] = import_module("annotationlib").Format.FORWARDREF


def signature(function: Any, **options: Any) -> Signature:
    """As `inspect.signature`. Names in annotations may be unknown, as for type checkers alone."""
    return inspect.signature(function, **_OPTIONS, **options)


def parameters(function: Any) -> list[Parameter]:
    """What `apply` takes by position, without the `ctx` that comes first unless there is a `setup_context`."""
    found = [each for each in signature(function.forward).parameters.values() if each.kind in _BY_POSITION]
    takes_context = function.setup_context is torch.autograd.Function.setup_context
    return found[1:] if takes_context and found and found[0].kind is not Parameter.VAR_POSITIONAL else found


def argument_names(function: Any, count: int) -> list[str]:
    """A name for each of `count` arguments; those taken by `*rest` are `rest[0]`, `rest[1]` and so on."""
    names = _names(parameters(function))
    return [next(names, "") for _ in range(count)]


def _names(found: list[Parameter]) -> Iterator[str]:
    for each in found:
        if each.kind is not Parameter.VAR_POSITIONAL:
            yield each.name
            continue
        index = 0
        while True:
            yield f"{each.name}[{index}]"
            index += 1
