"""`doctor check pkg.train:main --set epochs=1`: which function, with which values, as far as the source tells."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Literal, Optional, Union

from autograd_doctor import target
from autograd_doctor.calling import bound
from autograd_doctor.config_file import parse_value
from autograd_doctor.interpreter import OWN, Interpreter
from autograd_doctor.mistakes import Mistake, nearest
from autograd_doctor.plan import CallPlan, Target, Written

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN: dict[str, Any] = {
    **{kind.__name__: kind for kind in (bool, int, float, str, list, tuple, set, dict, Path)},
    "Optional": Optional,
    "Union": Union,
    "Literal": Literal,
    "List": list,
    "Tuple": tuple,
}
_BOUND_TO_CLASS = {"staticmethod": 0, "classmethod": 1}
"""Decorators that leave a signature known, and how many parameters a call through the class fills in."""


def is_call(name: str) -> bool:
    """Whether a target is `MODULE:FUNCTION` or `FILE:FUNCTION`: a file of that very name is a file."""
    where, colon, function = name.rpartition(":")
    dotted = all(part.isidentifier() for part in function.split("."))
    return bool(colon and where) and dotted and not Path(name).exists()


def call(name: str, sets: Sequence[str], python: Interpreter = OWN) -> tuple[Target, CallPlan]:
    """What is called, checked as far as that is possible without running anything. Raises `Mistake`."""
    where, _, function = name.rpartition(":")
    path = _source(where, python)
    given = dict(_given(word) for word in sets)
    if len(given) < len(sets):
        raise Mistake("--set: the same parameter is given twice")
    if path is not None:
        _check(path, where, function, given)
    words = [part for word in sets for part in ("--set", word)]
    return Target("call", name, words), CallPlan(where=where, function=function, given=given)


def _given(word: str) -> tuple[str, Written]:
    name, equals, text = word.partition("=")
    if not equals or not name.strip().isidentifier():
        raise Mistake(f"--set: expected NAME=VALUE, as in `epochs=1`, found `{word}`")
    return name.strip(), written(text.strip())


def written(text: str) -> Written:
    """A value that was typed; the child needs no YAML to read it."""
    return Written(text, json.dumps(parse_value(text)))


def _source(where: str, python: Interpreter) -> Path | None:
    """The file that defines the function, None if it is not Python."""
    if where.endswith((".py", ".ipynb")) or "/" in where:
        return Path(target.script(where, [], python).name)
    spec: ModuleSpec = target.find_module(where, python)
    if spec.origin is None or not spec.origin.endswith(".py"):
        return None
    target.compiled(target.read(Path(spec.origin)), spec.origin, python=python)
    return Path(spec.origin)


# ---------------------------------------------------------------------------------------------- what the source tells


def _check(path: Path, where: str, function: str, given: dict[str, Written]) -> None:
    """Complain of what is certain; what decorators, imports and assignments make of a name is seen in the child."""
    try:
        tree = ast.parse(target.read(path))
    except SyntaxError:  # a later Python than this one runs it
        return
    first, *others = function.split(".")
    names = list(_bound_names(tree))
    if first not in names:
        if "*" not in names and "__getattr__" not in names:
            defined = [each.name for each in tree.body if isinstance(each, _Function | ast.ClassDef)]
            raise Mistake(f"{where}: there is no `{first}`{nearest(first, defined)}")
        return
    signature = _signature(tree.body, [first, *others]) if names.count(first) == 1 else None
    if signature is not None:
        bound(signature, given, function)


def _bound_names(tree: ast.AST) -> Iterator[str]:
    """Every name that the source binds, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _signature(body: Sequence[ast.stmt], names: Sequence[str], owner: ast.ClassDef | None = None) -> Signature | None:
    found = [each for each in body if isinstance(each, _Function | ast.ClassDef) and each.name == names[0]]
    if len(found) != 1:
        return None
    (node,) = found
    if isinstance(node, ast.ClassDef):
        return _signature(node.body, names[1:], node) if len(names) > 1 else None
    decorators = [ast.unparse(each) for each in node.decorator_list]
    if len(names) > 1 or len(decorators) > 1 or any(each not in _BOUND_TO_CLASS for each in decorators):
        return None
    filled = _BOUND_TO_CLASS[decorators[0]] if owner and decorators else 0
    return Signature(list(_parameters(node.args))[filled:])


def _parameters(arguments: ast.arguments) -> Iterator[Parameter]:
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    for position, each in enumerate(positional):
        only = position < len(arguments.posonlyargs)
        kind = Parameter.POSITIONAL_ONLY if only else Parameter.POSITIONAL_OR_KEYWORD
        yield _parameter(each, kind, has_default=position >= first_default)
    if arguments.vararg:
        yield Parameter(arguments.vararg.arg, Parameter.VAR_POSITIONAL)
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(each, Parameter.KEYWORD_ONLY, has_default=default is not None)
    if arguments.kwarg:
        yield Parameter(arguments.kwarg.arg, Parameter.VAR_KEYWORD)


def _parameter(argument: ast.arg, kind: Any, *, has_default: bool) -> Parameter:
    default = ... if has_default else Parameter.empty
    return Parameter(argument.arg, kind, default=default, annotation=_annotation(argument.annotation))


def _annotation(node: ast.expr | None) -> Any:
    """An annotation that consists of plain names only; nothing is known of any other."""
    if node is None or not all(_is_plain(part) for part in ast.walk(node)):
        return Parameter.empty
    try:
        return eval(compile(ast.Expression(node), "<annotation>", "eval"), {"__builtins__": {}}, dict(_PLAIN))
    except Exception:
        return Parameter.empty


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _PLAIN
    parts = (ast.Subscript, ast.Constant, ast.Tuple, ast.BinOp, ast.BitOr, ast.Load, ast.UnaryOp, ast.USub)
    return isinstance(node, parts) and not (isinstance(node, ast.Constant) and isinstance(node.value, bytes))
