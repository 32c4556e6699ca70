"""Reading the source of a custom function before it is called more often than the program would."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

_CHANGES = frozenset({
    "append", "appendleft", "extend", "insert", "add", "update", "pop", "popitem", "remove", "clear", "discard",
    "setdefault", "put", "write", "send", "save", "backward", "step",
})  # fmt: skip
_CALLS = frozenset({"open", "exec", "eval", "input", "setattr", "next"})
_BY_DESIGN = re.compile(
    r"straight[\s_-]?through|surrogate|\bSTE\b|pseudo[\s_-]?gradient|fake[\s_-]?quant|quanti[sz]|binari[sz]|spik|clamp"
    r"|lower[\s_-]?bound|revers|threshold",
    re.IGNORECASE,
)
_METHODS = ("forward", "setup_context", "backward")


def methods(function: type) -> Iterator[FunctionType]:
    """What the program wrote of a custom function, below decorators."""
    for name in _METHODS:
        method: Any = inspect.unwrap(getattr(function, name))
        if isinstance(method, FunctionType) and not method.__module__.startswith("torch."):
            yield method


def side_effect(function: type) -> str:
    """The first thing outside itself that the function changes, as far as its source shows; "" if there is none."""
    try:
        return next((found for method in methods(function) for found in _changes(method)), "")
    except (OSError, TypeError, SyntaxError):
        return "its source cannot be read"


def marked_by_design(function: type) -> str:
    """A word in its name or documentation, or in its comments, that tells of a gradient that differs on purpose."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = f"{function.__name__} {function.__doc__}"
    words = " ".join([function.__name__, function.__doc__ or "", *re.findall(r"#[^\n]*", source)])
    found = _BY_DESIGN.search(words)
    return found[0] if found else ""


def _changes(method: FunctionType) -> Iterator[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    own = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield f"it assigns to `{node.names[0]}`"
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            if (root := _root(node)) not in own:
                yield f"it changes `{root}`"
        elif isinstance(node, ast.Call):
            yield from _change_by_call(node.func, own, method)


def _change_by_call(called: ast.expr, own: set[str], method: Callable[..., Any]) -> Iterator[str]:
    if isinstance(called, ast.Name) and called.id in _CALLS:
        yield f"it calls `{called.id}`"
    elif isinstance(called, ast.Attribute) and (called.attr in _CHANGES or called.attr.endswith("_")):
        root = _root(called)
        if root and root not in own and not isinstance(method.__globals__.get(root), ModuleType):
            yield f"it changes `{root}`"


def _root(node: ast.expr) -> str:
    """The name from which a chain of attributes, items and calls starts."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
