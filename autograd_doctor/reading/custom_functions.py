"""What a custom `autograd.Function` left in the graph, and where the program defines its methods."""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from types import FunctionType
from typing import Any

import torch

from autograd_doctor.findings import Location
from autograd_doctor.reading.places import is_own
from autograd_doctor.reading.subclasses import node_of
from autograd_doctor.reading.without_running import attribute, is_a, unwrapped


def outputs_of(result: Any) -> list[torch.Tensor]:
    """The tensors among what a call returned."""
    return [out for out in (result if isinstance(result, tuple | list) else (result,)) if is_a(out, torch.Tensor)]


def node_made_by(function: Any, result: Any) -> Any:
    """The node of the graph that a call made, which is the `ctx` of its backward; None without a gradient."""
    return next((node for node in map(node_of, outputs_of(result)) if isinstance(node, function._backward_cls)), None)


def own_method(function: Any, method: str) -> FunctionType | None:
    """A method below its decorators; None where the program did not write it."""
    found = unwrapped(attribute(function, method))
    return found if isinstance(found, FunctionType) and is_own(found.__code__.co_filename) else None


def definition(function: Any, method: str) -> Location | None:
    """The line of a method's `def`, for which its source is read; None where the program did not write it."""
    found = own_method(function, method)
    if found is None:
        return None
    code = found.__code__
    return Location(path=code.co_filename, line=_line_of_def(found), function=code.co_qualname)


def _line_of_def(method: FunctionType) -> int:
    """A code object begins at the first decorator, the definition in the syntax tree at `def`."""
    first = method.__code__.co_firstlineno
    with contextlib.suppress(OSError, SyntaxError):  # no source, or not that of a whole statement
        (found,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
        return first + found.lineno - 1
    return first
