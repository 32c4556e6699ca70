"""Model mode: what a file of models defines, as its source tells without running it."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograd_doctor.interpreter import OWN, Interpreter
from autograd_doctor.target import compiled, read

_MODULE_BASES = ("nn.Module", "torch.nn.Module", "Module")
_TRAINING = frozenset({"backward", "step", "fit", "train", "run", "main", "launch"})
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


FUNCTIONS = ("training_step", "configure_optimizers", "batches", "train")
"""What a file may define to do itself what the settings would say."""
GIVEN_TO_TRAIN = frozenset({"model", "optimizer", "optimizers", "loss", "batches", "steps"})
"""The parameters of a `train` of the file that are known."""


@dataclass(frozen=True)
class ModelFile:
    """The names that a file binds at its top level. `open` tells that a star import may bind any other."""

    name: str
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    open: bool = False
    only_defines: bool = False

    @property
    def is_for_model_mode(self) -> bool:
        """Whether running the file would do nothing, while it holds something to train."""
        return self.only_defines and bool(self.modules or self.classes or self.functions)

    @property
    def names(self) -> list[str]:
        return [*self.classes, *self.functions, *self.others]

    @property
    def modules(self) -> list[str]:
        """The classes that derive from `nn.Module` directly and can be built without arguments."""
        return [
            name
            for name, node in self.classes.items()
            if any(ast.unparse(base) in _MODULE_BASES for base in node.bases) and not required(initializer(node))
        ]


def look(name: str, python: Interpreter = OWN) -> ModelFile:
    """What the source of a file binds. Raises `Mistake` if it cannot be read or parsed."""
    source = read(Path(name))
    compiled(source, name, python=python)
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a later Python than this one runs it
        return ModelFile(name, open=True)
    return ModelFile(
        name=name,
        classes={node.name: node for node in body if isinstance(node, ast.ClassDef)},
        functions={node.name: node for node in body if isinstance(node, ast.FunctionDef)},
        others=frozenset(_other_bindings(body)),
        open=any(
            isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(ast.Module(body, []))
        ),
        only_defines=all(_defines(node) for node in body),
    )


def _other_bindings(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in ast.walk(ast.Module(list(body), [])):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _defines(node: ast.stmt) -> bool:
    """Whether a statement only defines: an import, a definition, a docstring, an assignment that cannot train."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(_may_train(call.func) for call in ast.walk(node) if isinstance(call, ast.Call))
    return isinstance(node, _DEFINES) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _may_train(called: ast.expr) -> bool:
    """Any function may, unless it is Python's own; making an object (`Path(…)`) or asking a library does not."""
    if isinstance(called, ast.Name):
        return called.id[:1].islower() and not hasattr(builtins, called.id)
    return not isinstance(called, ast.Attribute) or called.attr in _TRAINING


def initializer(node: ast.ClassDef) -> ast.arguments | None:
    """What a class is built with: the parameters of its `__init__` without the object itself."""
    methods = (part for part in node.body if isinstance(part, ast.FunctionDef))
    own = next((method.args for method in methods if method.name == "__init__"), None)
    if own is None:
        return None
    bound = copy.copy(own)
    bound.posonlyargs, bound.args = own.posonlyargs[1:], own.args if own.posonlyargs else own.args[1:]
    return bound


def required(signature: ast.arguments | None) -> list[str]:
    if signature is None:
        return []
    positional = [argument.arg for argument in (*signature.posonlyargs, *signature.args)]
    keyword = zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
    without_default = positional[: len(positional) - len(signature.defaults)]
    return [*without_default, *(argument.arg for argument, default in keyword if default is None)]
