"""How far the loops of a program have come, and so whether it would soon be through: then it is watched to its end.

A loop counts if how often it goes round can be told beforehand: over a `range`, also within a progress bar, over a list
that a name holds, or while a number is below another. What stands in the program's variables is read; none of its code
is run.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple, TypeGuard

from autograd_doctor.lent import lent
from autograd_doctor.reading.frame_locals import local_variables
from autograd_doctor.reading.places import own_frames
from autograd_doctor.reading.without_running import attribute

_Source = lent("executing").Source
_BETWEEN_LOOKS = 0.5
_TO_GET_GOING = 2.0
"""Seconds of a loop by which its pace is known: its first steps, which are watched closely, take longest."""
_MOST_ENTRIES = 10_000
"""Of a list, to look for the one that the loop is at."""
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda a, b: a // b if b else 0,
}


class _Seen(NamedTuple):
    """Of a loop, `fraction` was done at `when`."""

    loop: ast.stmt
    fraction: float
    when: float


class Foresight:
    """Looks at the running loops now and then."""

    def __init__(self) -> None:
        self._first: _Seen | None = None
        self._last: _Seen | None = None
        self._looked = float("-inf")

    def look(self, now: float) -> None:
        """See where the outermost loop of the caller's thread is."""
        if now < self._looked + _BETWEEN_LOOKS:
            return
        self._looked = now
        self._last = _outermost(now)
        if self._last is None or self._first is None or self._first.loop is not self._last.loop:
            self._first = self._last

    def ends_before(self, deadline: float) -> bool:
        """Whether that loop has only begun, or will be through by then at the pace so far; False if none counts."""
        if self._first is None or self._last is None:
            return False
        seconds, done = self._last.when - self._first.when, self._last.fraction - self._first.fraction
        if seconds < _TO_GET_GOING:
            return True
        return done > 0 and self._last.when + seconds * (1 - self._last.fraction) / done <= deadline


def _outermost(now: float) -> _Seen | None:
    """The outermost loop, to the fraction that is done of it, and of those within it as far as they count."""
    outermost: ast.stmt | None = None
    fraction, share = 0.0, 1.0
    for frame in reversed(list(own_frames())):
        scope = _Scope(frame)
        for loop in reversed(list(_loops_around(frame))):
            rounds = scope.rounds(loop)
            if rounds is None:
                return _Seen(outermost, fraction, now) if outermost is not None else None
            outermost = outermost or loop
            fraction += share * rounds.done / rounds.all
            share /= rounds.all
    return _Seen(outermost, fraction, now) if outermost is not None else None


def _loops_around(frame: FrameType) -> Iterator[ast.For | ast.AsyncFor | ast.While]:
    """The loops of a function in whose body it stands, innermost first."""
    statements = _Source.executing(frame).statements
    node: Any = min(statements, key=lambda each: each.lineno, default=None) if statements else None
    while node is not None and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        parent = getattr(node, "parent", None)
        if isinstance(parent, ast.For | ast.AsyncFor | ast.While) and node in parent.body:
            yield parent
        node = parent


class _Rounds(NamedTuple):
    done: int
    all: int


class _Scope:
    """What the names of a frame mean."""

    def __init__(self, frame: FrameType) -> None:
        self._names: tuple[Mapping[str, Any], ...] = (local_variables(frame), frame.f_globals)

    def rounds(self, loop: ast.For | ast.AsyncFor | ast.While) -> _Rounds | None:
        """How many times a loop has gone round, and will have; None if that cannot be told."""
        if isinstance(loop, ast.While):
            return self._while(loop.test)
        numbered = _is_call(loop.iter, "enumerate") and isinstance(loop.target, ast.Tuple)
        target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and numbered else loop.target
        entries, value = self._entries(loop.iter), self._value(target)
        if not entries:
            return None
        if numbered:
            return _Rounds(value, len(entries)) if type(value) is int and 0 <= value < len(entries) else None
        if isinstance(entries, range):
            return _Rounds(entries.index(value), len(entries)) if type(value) is int and value in entries else None
        if len(entries) > _MOST_ENTRIES:
            return None
        done = next((at for at, each in enumerate(entries) if each is value or _is_number(each, value)), None)
        return None if done is None else _Rounds(done, len(entries))

    def _while(self, test: ast.expr) -> _Rounds | None:
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt | ast.LtE)):
            return None
        done, below = self._value(test.left), self._value(test.comparators[0])
        return _Rounds(done, below) if type(done) is type(below) is int and 0 <= done < below else None

    def _entries(self, iterated: ast.expr) -> Sequence[Any]:
        """What a loop goes through; empty if its length cannot be told."""
        if _is_call(iterated, "range") or _is_call(iterated, "trange"):
            bounds = [self._value(each) for each in iterated.args]
            return range(*bounds) if 1 <= len(bounds) <= 3 and all(type(each) is int for each in bounds) else ()
        if isinstance(iterated, ast.Call):  # a progress bar, or `enumerate`
            return self._entries(iterated.args[0]) if iterated.args else ()
        if isinstance(iterated, ast.List | ast.Tuple):
            return [self._value(each) for each in iterated.elts]
        value = self._value(iterated)
        return value if type(value) in (list, tuple, range) else ()

    def _value(self, node: ast.expr) -> Any:
        """What a name, an attribute, an entry or a sum of these holds; None where the program would have to be run."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return next((scope[node.id] for scope in self._names if node.id in scope), None)
        if isinstance(node, ast.Attribute):
            return attribute(self._value(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            held, key = self._value(node.value), self._value(node.slice)
            return held.get(key) if type(held) is dict and type(key) is str else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._value(node.operand)
            return -value if type(value) is int else None
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self._value(node.left), self._value(node.right)
            return _OPERATORS[type(node.op)](left, right) if type(left) is type(right) is int else None
        return None


def _is_call(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_number(entry: object, value: object) -> bool:
    return type(entry) is type(value) and type(entry) in (int, float, str) and entry == value
