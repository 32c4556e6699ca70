"""Which backwards of the person's own files never ran: stages of the training that nobody has watched."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_doctor.findings import Location
from autograd_doctor.judging.reached import Reached
from autograd_doctor.trace import Trace

_BACKWARD = "backward"
"""The method of tensors, and of the frameworks that wrap it."""


def unreached(trace: Trace, reached: Reached, script: str) -> list[Location]:
    """The first backward of each function, or of a file's own statements, of which none ran; by file and line.

    script: the file that was run, empty where none was: what others would do if they were is not missed.
    """
    if trace.end is None or not trace.end.files:
        return []
    files = sorted({*trace.end.files, *reached.files()})
    return [location for file in files for location in _in_file(reached, file, is_imported=script not in ("", file))]


def _in_file(reached: Reached, file: str, *, is_imported: bool) -> Iterator[Location]:
    calls: dict[str, list[int]] = {}
    body = [each for each in reached.tree(file).body if not (is_imported and _is_for_script(each))]
    for function, line in _backwards(body, ""):
        calls.setdefault(function, []).append(line)
    for function, lines in calls.items():
        if not any(reached.statement(file, line) for line in lines):
            yield Location(path=file, line=lines[0], column=0, end_line=lines[0], end_column=0, function=function)


def _backwards(suite: list[ast.stmt], function: str) -> Iterator[tuple[str, int]]:
    """The statements that call a backward: the function that they are in, and the line that they begin at.

    What a function of that very name calls is a derivative, or the backward of those who call it.
    """
    for statement in suite:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{function}.{statement.name}" if function else statement.name
            yield from _backwards(statement.body, name) if statement.name != _BACKWARD else ()
            continue
        inner = list(_inner(statement))
        yield from _backwards(inner, function)
        if not inner and any(map(_is_backward, ast.walk(statement))):
            yield function, statement.lineno


def _is_for_script(statement: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__":`."""
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _inner(statement: ast.AST) -> Iterator[ast.stmt]:
    """The statements of its suites, also of those of its handlers and cases."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _inner(child)


def _is_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _BACKWARD
