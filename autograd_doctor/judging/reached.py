"""Which statements of the user's source ran for certain, as the places that the trace names prove."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograd_doctor.findings import Location
from autograd_doctor.judging import source
from autograd_doctor.notebook import parted
from autograd_doctor.trace import Trace

_WITHOUT_PLACES = frozenset({str, int, float, bool, type(None)})


class Reached:
    """The lines that events of a trace name, and what they tell of the statements around them."""

    def __init__(self, trace: Trace, cwd: str) -> None:
        self._trace = trace
        self._cwd = cwd
        self._trees: dict[str, ast.Module] = {}
        self._suites: dict[str, list[Sequence[ast.stmt]]] = {}

    @cached_property
    def _lines(self) -> dict[str, set[int]]:
        lines: dict[str, set[int]] = {}
        for location in _locations(self._trace.events):
            lines.setdefault(location.path, set()).add(location.line)
        return {str(Path(self._cwd, path)): seen for path, seen in lines.items()}

    def files(self) -> Iterator[str]:
        """The files in which something was seen."""
        yield from self._lines

    def tree(self, file: str) -> ast.Module:
        """The syntax of a file, which is read once; of what is no Python, none."""
        if file not in self._trees:
            self._trees[file] = _parsed("\n".join(source.lines(Path(file))))
        return self._trees[file]

    def file(self, file: str) -> bool:
        """Whether anything was seen in a file, or in any cell of the notebook of a cell."""
        return parted(file)[0] in {parted(other)[0] for other in self._lines}

    def statement(self, file: str, line: int) -> bool:
        """Whether the statement that begins at a line ran: something was seen in it, or in one after it of its suite.

        The statements of a suite run in their order, so that a later one proves all before it. So do cells.
        """
        seen = self._lines.get(file, set())
        for number, suite in enumerate(self._suites_of(file)):
            if any(statement.lineno == line for statement in suite):
                is_outermost = number == 0
                within = any(line <= other <= (suite[-1].end_lineno or 0) for other in seen)
                return within or (is_outermost and self._later_cell(file))
        return False

    def _later_cell(self, file: str) -> bool:
        notebook, cell = parted(file)
        return cell > 0 and any(parted(other)[0] == notebook and parted(other)[1] > cell for other in self._lines)

    def _suites_of(self, file: str) -> list[Sequence[ast.stmt]]:
        if file not in self._suites:
            self._suites[file] = list(_suites(self.tree(file)))
        return self._suites[file]


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _suites(tree: ast.Module) -> Iterator[Sequence[ast.stmt]]:
    """Runs of statements that are carried out one after the other, the outermost first."""
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _locations(value: Any) -> Iterator[Location]:
    """Every place that is named anywhere in plain data."""
    rest = [value]
    while rest:
        each = rest.pop()
        if type(each) in _WITHOUT_PLACES:
            continue
        if isinstance(each, Location):
            yield each
        elif isinstance(each, Struct):
            rest.extend(getattr(each, name) for name in each.__struct_fields__)
        elif isinstance(each, tuple | list):
            rest.extend(each)
        elif isinstance(each, dict):
            rest.extend(each.values())
