"""Which lines of the child could be broken without any test of theirs noticing?

    python -m tests.mutations autograd_doctor/instruments/spine/ledger.py

breaks one place of the file at a time: a comparison, `and`/`or`, a `not`, a number, a truth value, a statement, what is
returned. After each the tests that belong to the file run, in a process of their own. A mutation that they notice is
killed; each that they do not notice is printed with its line, and at the end the share that was killed. A survivor
means a missing test, a line that is not needed, or a change that makes no difference (a limit of 64 that became 65):
which of these, a person has to decide.

Without files, all of signals/, instruments/ and reading/ that have tests of their own are gone through, which takes
long. Tests that belong to `signals/` are `tests/test_signals.py`, to other files all `test_<name>.py` of their names.
"""

from __future__ import annotations

import ast
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch._dynamo  # noqa: F401  the tests need it, and it takes long: once, before any process forks
from _pytest.main import pytest_runtestloop

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "autograd_doctor"
SECONDS = 60

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_REMOVABLE = (ast.Assign, ast.AugAssign, ast.Continue, ast.Break, ast.Delete)

Mutation = tuple[ast.AST, ast.AST]
"""A node of a tree, and what takes its place."""


def mutations(tree: ast.Module) -> Iterator[Mutation]:
    """All that are made, in the order of the lines."""
    skipped = {id(inner) for node in ast.walk(tree) for part in _told_only(node) for inner in ast.walk(part)}
    inside = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(tree) if id(node) not in skipped and hasattr(node, "lineno")]
    for node in sorted(nodes, key=lambda each: (each.lineno, each.col_offset)):  # type: ignore[attr-defined]
        for new in _broken(node, statement=id(node) in inside):
            yield node, new


def _told_only(node: ast.AST) -> list[ast.AST]:
    """Parts that say something to people and tools, and do nothing: annotations; also the `strict` of `zip`."""
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.keyword) and node.arg == "strict":
        parts.append(node.value)
    return [part for part in parts if isinstance(part, ast.AST)]


def _broken(node: ast.AST, *, statement: bool) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=[first, *rest], comparators=comparators):
            yield ast.Compare(left, [_OPPOSITES[type(first)](), *rest], comparators)
        case ast.BoolOp(op=ast.And(), values=values):
            yield ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Return(value=ast.expr()) if not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) if statement:
            yield ast.Pass()
        case ast.AnnAssign(value=ast.expr()) if statement:
            yield ast.Pass()
        case ast.stmt() if statement and isinstance(node, _REMOVABLE):
            yield ast.Pass()


class _Replacing(ast.NodeTransformer):
    def __init__(self, mutation: Mutation) -> None:
        self._old, self._new = mutation

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(self._new, node) if node is self._old else self.generic_visit(node)


def tests_of(file: Path) -> list[Path]:
    """The tests that belong to a file of the child."""
    if file.parent.name == "signals":
        return [ROOT / "tests/test_signals.py"]
    return sorted((ROOT / "tests").rglob(f"test_{file.stem}.py"))


class Runner:
    """A plugin of pytest: when the tests of a file are collected, they run once for each mutation."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tree = ast.parse(file.read_text(encoding="utf-8"))
        self.killed = self.made = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self._is_noticed(session, None):
            raise pytest.UsageError(f"{self._file}: its tests fail on the file as it is")
        for mutation in mutations(self._tree):
            self.made += 1
            if self._is_noticed(session, mutation):
                self.killed += 1
            else:
                old, new = mutation
                where = f"{self._file.relative_to(ROOT)}:{old.lineno}"  # type: ignore[attr-defined]
                print(f"{where}: {_line(old)}  ->  {_line(new)}", flush=True)
        return True

    def _is_noticed(self, session: pytest.Session, mutation: Mutation | None) -> bool:
        """Whether a test fails, or hangs, when the file is broken in one place; in a process of its own."""
        process = os.fork()
        if process == 0:
            signal.alarm(SECONDS)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            os._exit(self._failed(session, mutation))
        return os.waitpid(process, 0)[1] != 0

    def _failed(self, session: pytest.Session, mutation: Mutation | None) -> int:
        try:
            if mutation is not None:
                self._break(_Replacing(mutation).visit(self._tree))
            pytest_runtestloop(session)
        except BaseException:
            return 1
        return int(session.testsfailed > 0)

    def _break(self, tree: ast.Module) -> None:
        """Put what the changed source defines in the place of what the tests have imported already."""
        name = ".".join(self._file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        namespace = {"__name__": name, "__file__": module.__file__, "__package__": module.__package__}
        exec(compile(ast.fix_missing_locations(tree), str(self._file), "exec"), namespace)
        _transplant(vars(module), namespace, module.__name__)


def _transplant(old: Any, new: Any, module: str) -> None:
    """Change functions in place, since others refer to them; replace plain values."""
    for name, value in list(new.items()):
        before = old.get(name)
        if isinstance(value, type) and value.__module__ == module:
            for key, member in vars(value).items():
                if isinstance(member, bool | int | float):
                    setattr(before, key, member)
            _transplant(vars(before), vars(value), module)
        elif (function := _function(value)) is not None and function.__module__ == module:
            kept = _function(before)
            assert kept is not None
            kept.__defaults__, kept.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
            if kept.__code__ != function.__code__:
                kept.__code__ = function.__code__
        elif isinstance(value, bool | int | float | str | tuple | frozenset | set) and isinstance(old, dict):
            old[name] = value


def _function(value: Any) -> FunctionType | None:
    """The function below a property, a method of a class or a decorator."""
    value = getattr(value, "fget", None) or getattr(value, "__func__", value)
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value if isinstance(value, FunctionType) else None


def check(file: Path, tests: list[Path]) -> tuple[int, int]:
    """Print the survivors of one file; returns how many were killed, of how many."""
    runner = Runner(file)
    if pytest.main(["-x", "-qq", "-s", "-p", "no:cacheprovider", *map(str, tests)], plugins=[runner]):
        raise SystemExit(1)
    print(f"{file.relative_to(ROOT)}: {runner.killed} of {runner.made} killed", flush=True)
    return runner.killed, runner.made


def _line(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:90]


def main(arguments: list[str]) -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    named = [Path(argument).resolve() for argument in arguments]
    folders = ("signals", "instruments", "reading")
    files = named or [file for folder in folders for file in sorted((PACKAGE / folder).rglob("*.py"))]
    counts = [check(file, tests_of(file)) for file in files if tests_of(file)]
    killed, made = (sum(column) for column in zip(*counts, strict=True))
    print(f"in all, {killed} of {made} killed: {killed / made:.0%}")


if __name__ == "__main__":
    main(sys.argv[1:])
