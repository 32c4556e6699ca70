"""A line of source fitted to the width: which part of it is shown, and in which cells a span of it lies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len

from autograd_doctor.renderers.printable import code_line
from autograd_doctor.report import Place


@dataclass(frozen=True)
class Window:
    """The part of a line that is shown; `offset` is that of its first character, `shift` the cells of the left cut."""

    text: str
    offset: int
    shift: int
    cut_left: bool
    cut_right: bool

    def cells(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` to `end` of the whole line lie, in cells."""
        first = cell_len(self.text[: max(0, start - self.offset)])
        last = cell_len(self.text[: max(0, end - self.offset)])
        return self.shift + first, self.shift + last


@dataclass(frozen=True)
class SourceLine:
    """A line without the indentation that all its neighbours share; `positions` maps the user's columns into `text`."""

    text: str
    positions: list[int]

    @classmethod
    def of(cls, line: str, indent: int, *, unicode: bool) -> SourceLine:
        text, positions = code_line(line, unicode=unicode)
        return cls(text[indent:].rstrip(), [max(0, position - indent) for position in positions])

    def span(self, place: Place) -> tuple[int, int]:
        """The characters of a place: to the end of the line if it goes on below, the whole line if unknown."""
        first, end = len(self.text) - len(self.text.lstrip()), len(self.text)
        if place.column:
            first = self._position(place.column)
            if place.end_line == place.line and place.end_column > place.column:
                end = self._position(place.end_column)
        return first, max(end, first + 1)

    def _position(self, column: int) -> int:
        return min(self.positions[min(column, len(self.positions)) - 1], len(self.text))

    def window(self, start: int, room: int, cut: str) -> Window:
        """As much of the line as there is room for, with the character `start` in it."""
        first = 0 if cell_len(self.text[:start]) <= room * 2 // 3 else start - room // 3
        shift = len(cut) if first else 0
        last = _fitting(self.text, first, room - shift)
        if last < len(self.text):
            last = _fitting(self.text, first, room - shift - len(cut))
        return Window(self.text[first:last], first, shift, first > 0, last < len(self.text))


def _fitting(text: str, first: int, room: int) -> int:
    """The end of the longest part of the text from `first` on that fits."""
    last = min(len(text), first + max(1, room))
    while last > first + 1 and cell_len(text[first:last]) > room:
        last -= 1
    return last


def common_indent(lines: Iterable[str]) -> int:
    """The cells of white space with which every line that is not blank begins."""
    expanded = [code_line(line, unicode=True)[0] for line in lines if line.strip()]
    return min((len(line) - len(line.lstrip(" ")) for line in expanded), default=0)
