"""Asking whether a custom function can be called more often than the program would: what it changes outside itself.

Its syntax says which names it stores to and calls on; what those names stand for is looked up where the function
would, and decides. Where that stays unknown, the function is said not to be judged.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, TypeGuard

import torch
from torch import nn

from autograd_doctor.reading.module_tree import children_of
from autograd_doctor.reading.places import is_own
from autograd_doctor.reading.without_running import attribute, attributes, closure_of, is_a, unwrapped

_METHODS = ("forward", "setup_context", "backward")
_ACTING = tuple(map(id, (open, exec, eval, input, setattr, delattr, next)))
"""Built-in functions that act on something beyond their result."""
_IMMUTABLE: Mapping[type, type] = {
    list: tuple, deque: tuple, set: frozenset, dict: MappingProxyType, bytearray: bytes,
}  # fmt: skip
"""Built-in containers, and for each the type that offers those of its methods that change nothing."""
_VALUES = (bool, int, float, complex, str, bytes, tuple, frozenset, torch.dtype, torch.device, torch.Size, type(None))
_DEPTH = 4
"""How many calls deep the program's own functions are followed: wrappers of wrappers, but no framework."""

_UNKNOWN = object()


def methods(function: type) -> Iterator[FunctionType]:
    """What the program wrote of a custom function, below decorators."""
    for name in _METHODS:
        method = unwrapped(attribute(function, name))
        if isinstance(method, FunctionType) and not (method.__module__ or "").startswith("torch."):
            yield method


def side_effect(function: type, given: Sequence[Any] = (), context: Mapping[str, Any] | None = None) -> str:
    """The first thing outside itself that the function changes, as far as can be told; "" if there is none.

    `given` are the arguments of a call and `context` what its `ctx` keeps after it: they tell what the function's names
    stand for. It may change them, since it is called on copies of them.
    """
    try:
        return next(_changes(function, given, SimpleNamespace(**(context or {}))), "")
    except (OSError, TypeError, SyntaxError):
        return "its source cannot be read"


def _changes(function: type, given: Sequence[Any], context: SimpleNamespace) -> Iterator[str]:
    for method in methods(function):
        copied = _bound(method, _arguments(function, method, given, context))
        yield from _Reading(method, _DEPTH, copied=copied).changes()


def _arguments(function: type, method: FunctionType, given: Sequence[Any], context: Any) -> list[Any]:
    if method.__name__ == "forward":
        takes_context = attribute(function, "setup_context") is attribute(torch.autograd.Function, "setup_context")
        return [context, *given] if takes_context else list(given)
    return [context, tuple(given)] if method.__name__ == "setup_context" else [context]


def _bound(method: FunctionType, values: Sequence[Any]) -> dict[str, Any]:
    """What the parameters of a method stand for, as far as these are no plain values."""
    code = method.__code__
    names = code.co_varnames[: code.co_argcount]
    found = dict(zip(names, values, strict=False))
    if code.co_flags & inspect.CO_VARARGS:
        found[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] = tuple(values[len(names) :])
    return {name: value for name, value in found.items() if type(value) is tuple or not is_a(value, _VALUES)}


def first_change(function: FunctionType, copied: Mapping[str, Any] | None = None) -> str:
    """The first thing outside itself and its arguments that a function changes; "" if there is none.

    copied: variables of its that stand for copies when it is called.
    """
    try:
        return next(_Reading(function, _DEPTH, copied=copied).changes(), "")
    except (OSError, TypeError, SyntaxError):
        return "its source cannot be read"


def _parsed(function: FunctionType) -> ast.Module:
    """Its syntax; of a lambda, whose source is the whole statement around it, that of all lambdas there."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    if function.__name__ != "<lambda>":
        return tree
    return ast.Module([ast.Expr(node) for node in ast.walk(tree) if isinstance(node, ast.Lambda)], [])


class _Reading:
    """One function of the program: its syntax, and what its names stand for.

    `outside` are parameters that stand for something beyond the function: the `self` of an object that it calls.
    `copied` are those that stand for copies, which it may change.
    """

    def __init__(
        self,
        function: FunctionType,
        depth: int,
        outside: Mapping[str, Any] | None = None,
        copied: Mapping[str, Any] | None = None,
    ) -> None:
        self._function = function
        self._depth = depth
        self._copied = dict(copied or {})
        self._tree = _parsed(function)
        self._shared = {name for node in self._of(ast.Global, ast.Nonlocal) for name in node.names}
        self._outside = {**closure_of(function), **(outside or {})}
        code = function.__code__
        stored = {node.id for node in self._of(ast.Name) if isinstance(node.ctx, ast.Store)}
        inner = {node.arg for node in self._of(ast.arg)}
        self._own = {*code.co_varnames, *code.co_cellvars, *stored, *inner} - self._shared - set(outside or ())
        self._aliases: dict[str, ast.expr] = {}
        self._name_parts_of_copies()
        self._aliases = dict(self._aliased())
        self._own -= set(self._aliases)

    def _of(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        return (node for node in ast.walk(self._tree) if isinstance(node, kinds))

    def _aliased(self) -> Iterator[tuple[str, ast.expr]]:
        """Local names for what lies outside: `log = LOG`."""
        for node in self._of(ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                value = self._resolved(node.value)
                if value is not _UNKNOWN and not is_a(value, _VALUES) and not self._is_copied(node.value):
                    yield node.targets[0].id, node.value

    def _name_parts_of_copies(self) -> None:
        """Local names for what a copy holds: `grid = ctx.grid`, `x, grid = inputs`."""
        for node in self._of(ast.Assign):
            if len(node.targets) != 1 or not self._is_copied(node.value):
                continue
            target, value = node.targets[0], self._resolved(node.value)
            parts = zip(target.elts, value, strict=False) if _unpacks(target, value) else [(target, value)]
            for part, stands_for in parts:
                if isinstance(part, ast.Name) and stands_for is not _UNKNOWN and not is_a(stands_for, _VALUES):
                    self._copied[part.id] = stands_for

    def changes(self) -> Iterator[str]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and node.id in self._shared:
                yield f"it assigns to `{node.id}`"
            elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                if self._is_outside(node):
                    yield f"it changes `{_root(node)}`"
            elif isinstance(node, ast.Call):
                yield from self._by_call(node)

    # -------------------------------------------------------------------------------------------------------- calls

    def _by_call(self, call: ast.Call) -> Iterator[str]:
        called = self._resolved(call.func)
        if id(called) in _ACTING:
            yield f"it calls `{ast.unparse(call.func)}`"
        elif is_a(called, FunctionType) and is_own(called.__code__.co_filename):
            yield from self._by_own(called, call)
        elif is_a(called, nn.Module) and _has_state(called) and not self._is_copied(call.func):
            yield f"it calls the module `{ast.unparse(call.func)}`"
        elif isinstance(call.func, ast.Attribute) and self._is_outside(call.func):
            yield from self._by_method(self._resolved(call.func.value), call.func)

    def _by_own(self, called: FunctionType, call: ast.Call) -> Iterator[str]:
        """The program's own function or method: its parameters may stand for what is outside as well."""
        given = list(call.args)
        if isinstance(call.func, ast.Attribute) and not is_a(self._resolved(call.func.value), (ModuleType, type)):
            given.insert(0, call.func.value)
        names = called.__code__.co_varnames[: called.__code__.co_argcount]
        outside, copied = dict[str, Any](), dict[str, Any]()
        for name, argument in zip(names, given, strict=False):
            value = self._resolved(argument)
            if value is not _UNKNOWN and not is_a(value, _VALUES):
                (copied if self._is_copied(argument) else outside)[name] = value
        if self._depth > 0:
            yield from _Reading(called, self._depth - 1, outside, copied).changes()

    def _by_method(self, owner: Any, func: ast.Attribute) -> Iterator[str]:
        """A method that the program did not write, of an object that it did not make here."""
        if is_a(owner, type) and issubclass(owner, torch.autograd.Function):
            inner = methods(owner) if self._depth > 0 else iter(())
            yield from (found for method in inner for found in _Reading(method, self._depth - 1).changes())
        elif not (owner is _UNKNOWN and self._is_of_module(func)) and not _is_harmless(owner, func.attr):
            yield f"it changes `{_root(func)}`"

    # ---------------------------------------------------------------------------------------------------- resolving

    def _is_outside(self, node: ast.expr) -> bool:
        """Whether a chain of attributes and items starts from something that the function did not make."""
        root = _root(node)
        return bool(root) and root not in self._own and root not in self._copied

    def _is_copied(self, node: ast.expr) -> bool:
        return _root(node) in self._copied

    def _is_of_module(self, node: ast.expr) -> bool:
        return is_a(self._named(_root(node)), ModuleType)

    def _resolved(self, node: ast.expr) -> Any:
        """What an expression stands for, as far as looking tells: nothing of the program runs."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._resolved(node.value)
            return _UNKNOWN if owner is _UNKNOWN else _attribute(owner, node.attr)
        if isinstance(node, ast.Subscript):
            return _entry(self._resolved(node.value), node.slice)
        return _UNKNOWN

    def _named(self, name: str) -> Any:
        if name in self._copied:
            return self._copied[name]
        if name in self._own:
            return _UNKNOWN
        if name in self._aliases:
            return self._resolved(self._aliases[name])
        for scope in (self._outside, self._function.__globals__, vars(builtins)):
            if name in scope:
                return scope[name]
        return _UNKNOWN


def _root(node: ast.expr) -> str:
    """The name from which a chain of attributes and items starts; "" if it starts from the result of a call."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _attribute(owner: Any, name: str) -> Any:
    inner = _children(owner)
    return inner[name] if name in inner else unwrapped(attribute(owner, name, _UNKNOWN))


def _children(owner: Any) -> dict[str, Any]:
    return children_of(owner) if is_a(owner, nn.Module) else {}


def _unpacks(target: ast.expr, value: Any) -> TypeGuard[ast.Tuple]:
    return isinstance(target, ast.Tuple) and type(value) in (tuple, list)


def _entry(container: Any, which: ast.expr) -> Any:
    """An entry of a built-in container, or of one of modules; where it is not known which, one for all of them."""
    if type(container) in (list, tuple) and isinstance(which, ast.Constant) and type(which.value) is int:
        return container[which.value] if which.value < len(container) else _UNKNOWN
    if type(container) in (list, tuple, deque):
        return next(iter(container), _UNKNOWN)
    entries = container if type(container) is dict else _children(container)
    return next(iter(entries.values()), _UNKNOWN)


def _has_state(module: nn.Module) -> bool:
    """Whether calling a module may change something: its buffers, or gradients of its parameters."""
    return any(attributes(module).get(kind) for kind in ("_parameters", "_buffers", "_modules"))


def _is_harmless(owner: Any, method: str) -> bool:
    """Whether a method leaves its object as it is: as the type tells, or in the way that torch names those that do."""
    if is_a(owner, (ModuleType, type, *_VALUES)):
        return True
    if is_a(owner, torch.Tensor):
        return not method.endswith("_") and method != "backward"
    return any(type(owner) is kind and hasattr(safe, method) for kind, safe in _IMMUTABLE.items())
