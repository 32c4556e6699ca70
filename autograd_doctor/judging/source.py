"""The user's source as text: lines and comments. A file that is gone or is no Python simply has none."""

from __future__ import annotations

import io
import linecache
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from autograd_doctor.events.run import CellRan
from autograd_doctor.mistakes import Mistake
from autograd_doctor.notebook import parted
from autograd_doctor.notebook.cells import Cell, cells

_overlay: ContextVar[Mapping[str, bytes]] = ContextVar("overlay", default=MappingProxyType({}))
SNIPPET_LINES = 10
"""Longer spans are cut: a report quotes the place, not the program."""


@contextmanager
def overlaid(files: Mapping[str, bytes]) -> Iterator[None]:
    """Read these in place of files: what the program was when it ran."""
    token = _overlay.set(files)
    try:
        yield
    finally:
        _overlay.reset(token)


@contextmanager
def running(cells: Iterable[CellRan], cwd: str) -> Iterator[None]:
    """Quote the cells that ran in IPython, beside whatever is laid over files."""
    texts = {str(Path(cwd, cell.file)): cell.text.encode() for cell in cells}
    with overlaid({**_overlay.get(), **texts}):
        yield


def lines(path: Path) -> list[str]:
    """The lines of a file, or of a cell of a notebook, as Python counts them; empty if it cannot be read."""
    file, cell = parted(str(path))
    if cell:
        return next((each.source.split("\n") for each in cells_of(Path(file)) if each.number == cell), [])
    try:
        if file not in _overlay.get() and not path.is_file():
            return _remembered(path)
        data = _data(path)
    except (OSError, ValueError):
        return []
    return _decoded(data).split("\n")


def _remembered(path: Path) -> list[str]:
    """Source that never was a file, such as a cell of IPython's, where the process that ran it is the one that asks."""
    name = path.name if path.name.startswith("<") else str(path)
    return [line.rstrip("\n") for line in linecache.getlines(name)]


def cells_of(notebook: Path) -> list[Cell]:
    """The cells of a notebook, none if it cannot be read any more."""
    try:
        return cells(_data(notebook), str(notebook))
    except (OSError, ValueError, Mistake):
        return []


def _data(path: Path) -> bytes:
    laid = _overlay.get().get(str(path))
    return path.read_bytes() if laid is None else laid


def _decoded(data: bytes) -> str:
    """Text in the encoding that the file declares, with every kind of line end as a newline."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        encoding = "utf-8"
    return data.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def snippet(text: Sequence[str], line: int, end_line: int) -> str:
    """The lines of a span, with their indentation so that columns keep their meaning; at most `SNIPPET_LINES`."""
    if line < 1:
        return ""
    return "\n".join(text[line - 1 : min(max(line, end_line), line - 1 + SNIPPET_LINES)])


@dataclass(frozen=True)
class Comment:
    """A comment and the lines of the statement that it stands in, or, alone on its line, the statement below it.

    `column` counts from 0, in characters. `statement` is the line that the statement begins at, 0 without one.
    """

    text: str
    line: int
    column: int
    statement: int
    first: int
    last: int


def comments(text: Sequence[str]) -> list[Comment]:
    """Every comment of a file up to the first token that is no Python."""
    found: list[Comment] = []
    pending: list[tuple[str, int, int]] = []
    first = 0
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            pending.append((token.string, *token.start))
        elif token.type == tokenize.NEWLINE:
            found += [Comment(*comment, first, min(first, comment[1]), token.start[0]) for comment in pending]
            pending, first = [], 0
        elif token.type not in _LAYOUT:
            first = first or token.start[0]
    return found + [Comment(*comment, 0, comment[1], comment[1]) for comment in pending]


_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER)


def _tokens(text: Sequence[str]) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(iter([f"{line}\n" for line in text]).__next__)
    except (tokenize.TokenError, SyntaxError):
        return  # what stands before the broken place still counts
