"""A notebook as a program: its cells in order, in one `__main__`, as Jupyter runs them."""

from __future__ import annotations
import __future__

import ast
import asyncio
import inspect
import linecache
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, TracebackType
from typing import Any

from autograd_doctor.notebook import cell_file
from autograd_doctor.notebook.cells import Cell, cells
from autograd_doctor.notebook.magics import TOP_LEVEL_AWAIT, Kind, Said, translate
from autograd_doctor.plan import Target
from autograd_doctor.reading import places
from autograd_doctor.runner import crash
from autograd_doctor.runner.laid_over import source_of
from autograd_doctor.runner.program import new_main, search_first
from autograd_doctor.runner.shell import Shell, display

_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_SAID: dict[Kind, str] = {
    "skipped": "IPython-only code was skipped",
    "shell": "shell commands were not run",
    "timed": "code to be timed was run once, without timing",
}
_SHOWN = 3


class NotebookProgram:
    """Knows its cells from the start. `note` is told what runs otherwise than in Jupyter."""

    def __init__(self, target: Target, note: Callable[[str], None]) -> None:
        self._path = os.path.abspath(target.name)
        self._target = target
        self._note = note
        self._noted: set[str] = set()
        self._flags = TOP_LEVEL_AWAIT
        self._loop: asyncio.AbstractEventLoop | None = None
        self._variables: dict[str, Any] = {}
        translated = [(cell, translate(cell.source)) for cell in cells(source_of(self._path), target.name)]
        self._cells = [cell._replace(source=found.source) for cell, found in translated]
        self._said = [(cell.number, said) for cell, found in translated for said in found.said]

    @property
    def codes(self) -> Iterator[CodeType]:
        """Each cell compiled as a whole, to be looked at."""
        for cell in self._cells:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield compile(cell.source, self._file(cell), "exec", TOP_LEVEL_AWAIT, dont_inherit=True)

    def execute(self) -> None:
        """Run all cells in the folder of the notebook."""
        self._say_what_is_left_out()
        os.chdir(os.path.dirname(self._path))
        os.environ.setdefault("MPLBACKEND", "agg")
        search_first("")
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _show_failure
        if not places.is_own(self._path):
            places.set_target_folder(os.path.dirname(self._path))
        main = new_main({"display": display}, [self._target.name, *self._target.arguments])
        self._variables = vars(main)
        shell = Shell(self._variables, self._skipped)
        self._variables["get_ipython"] = lambda: shell
        for cell in self._cells:
            self._run(cell)

    def _run(self, cell: Cell) -> None:
        try:
            for code in self._parts(cell):
                self._show(self._evaluate(code))
        except Exception as error:
            if not cell.may_raise:
                raise
            crash.peel(error)
            crash.report(error)

    def _parts(self, cell: Cell) -> Iterator[CodeType]:
        """The code of a cell; an expression at its end by itself, because its value is shown."""
        file = self._file(cell)
        linecache.cache[file] = (len(cell.source), None, cell.source.splitlines(keepends=True), file)
        tree = compile(cell.source, file, "exec", ast.PyCF_ONLY_AST | self._flags, dont_inherit=True)
        *_, last = tree.body or [None]
        shown = isinstance(last, ast.Expr) and not _is_silenced(cell.source)
        if shown:
            del tree.body[-1]
        code = compile(tree, file, "exec", self._flags, dont_inherit=True)
        # What is imported from `__future__` holds for all later cells.
        self._flags |= code.co_flags & _FUTURES
        yield code
        if shown:
            yield compile(ast.Expression(last.value), file, "eval", self._flags, dont_inherit=True)

    def _evaluate(self, code: CodeType) -> Any:
        found = eval(code, self._variables)
        if not code.co_flags & inspect.CO_COROUTINE:
            return found
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        try:
            return self._loop.run_until_complete(found)
        except BaseException as error:
            error.__traceback__ = _from(code, error.__traceback__)
            raise

    def _show(self, value: Any) -> None:
        if value is not None:
            display(value)

    def _file(self, cell: Cell) -> str:
        return cell_file(self._path, cell.number)

    # ------------------------------------------------------------------------------------------- what is left out

    def _say_what_is_left_out(self) -> None:
        for kind, words in _SAID.items():
            found = [(number, said) for number, said in self._said if said.kind == kind]
            if found:
                self._note(f"{words}: {_listed(found)}")

    def _skipped(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(f"`{text}` of `get_ipython()` was skipped")


def _show_failure(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """As Python does, but with the lines of cells, which Python's own would look for in files only."""
    traceback.print_exception(kind, error, trace)


def _from(code: CodeType, trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the event loop that ran a cell."""
    while trace is not None and trace.tb_frame.f_code is not code:
        trace = trace.tb_next
    return trace


def _is_silenced(source: str) -> bool:
    """A `;` at the end of a cell keeps the value of its last line from being shown."""
    lines = [line for line in source.splitlines() if line.partition("#")[0].strip()]
    return bool(lines) and lines[-1].partition("#")[0].rstrip().endswith(";")


def _listed(found: Iterable[tuple[int, Said]]) -> str:
    said = [f"`{_cut(said.text)}` (cell {number})" for number, said in found]
    more = len(said) - _SHOWN
    return ", ".join(said[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
