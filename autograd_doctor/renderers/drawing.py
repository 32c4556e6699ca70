"""Drawing a code frame: gutter, source, carets and labels, each line cut to the width around what it points at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from rich.text import Text

from autograd_doctor.renderers.canvas import GUTTER, RELATED, Canvas, wrap
from autograd_doctor.renderers.frames import Frame, Mark
from autograd_doctor.renderers.source_line import SourceLine, Window, common_indent

LABEL_ROOM = 36
"""A label with less room than this below its carets moves to the left."""


class Drawing:
    """One frame on a canvas. `digits` is the width of the line numbers, `style` that of the finding's severity."""

    def __init__(self, canvas: Canvas, frame: Frame, digits: int, style: str) -> None:
        self._canvas = canvas
        self._frame = frame
        self._digits = digits
        self._style = style
        self._indent = common_indent(frame.lines.values())
        self._bracket = _bracketed(frame)
        self._room = max(8, canvas.width - digits - 3 - (2 if self._bracket else 0))

    def lines(self) -> Iterator[Text]:
        """The gutter, the source lines with what is marked in them, the gutter again."""
        yield self._gutter()
        previous = 0
        for number, text in self._frame.lines.items():
            if previous and number > previous + 1:
                yield Text.assemble((f"{'...':<{self._digits + 3}}", GUTTER), self._margin(previous))
            previous = number
            yield from self._source_line(number, text)
        yield self._gutter()

    def _gutter(self, number: int | None = None) -> Text:
        label = "" if number is None else str(number)
        return Text(f"{label:>{self._digits}} {self._canvas.glyphs.bar} ", style=GUTTER)

    # ------------------------------------------------------------------------------------------------- source lines

    def _source_line(self, number: int, text: str) -> Iterator[Text]:
        marks = [mark for mark in self._frame.marks if mark.place.line == number and mark is not self._bracket]
        marks.sort(key=lambda mark: not mark.primary)
        line = SourceLine.of(text, self._indent, unicode=self._canvas.options.unicode)
        start = line.span(marks[0].place)[0] if marks else 0
        window = line.window(start, self._room, self._canvas.glyphs.cut)
        yield Text.assemble(self._gutter(number), self._edge(number), self._code(window))
        for mark in marks:
            yield from self._underlined(
                mark, Text.assemble(self._gutter(), self._margin(number)), *window.cells(*line.span(mark.place))
            )
        if self._bracket and number == self._bracket.place.end_line:
            yield from self._bracket_end(self._bracket)

    def _code(self, window: Window) -> Text:
        code = highlighted(window.text) if self._canvas.options.color else Text(window.text)
        cut = (self._canvas.glyphs.cut, GUTTER)
        return Text.assemble(cut if window.cut_left else "", code, cut if window.cut_right else "")

    # ---------------------------------------------------------------------------------------------- carets and labels

    def _underlined(self, mark: Mark, margin: Text, start: int, end: int) -> Iterator[Text]:
        style = self._style if mark.primary else RELATED
        start = min(start, self._room - 1)
        carets = ("^" if mark.primary else "-") * max(1, min(end, self._room) - start)
        label = self._canvas.prose(mark.label, style)
        if "\n" not in label.plain and start + len(carets) + 1 + label.cell_len <= self._room:
            yield Text.assemble(margin, " " * start, (carets, style), " ", label)
            return
        yield Text.assemble(margin, " " * start, (carets, style))
        fits = "\n" not in label.plain and start + label.cell_len <= self._room
        column = start if fits else max(0, min(start, self._room - LABEL_ROOM))
        for line in wrap(label, self._room - column):
            yield Text.assemble(margin, " " * column, line)

    # ------------------------------------------------------------------------------- a bracket beside a span of lines

    def _edge(self, number: int) -> Text:
        """The bracket's part beside a source line."""
        if self._bracket is None:
            return Text("")
        place, glyphs = self._bracket.place, self._canvas.glyphs
        glyph = glyphs.top if number == place.line else glyphs.side if place.line < number <= place.end_line else " "
        return Text(f"{glyph} ", style=self._bracket_style)

    def _margin(self, number: int) -> Text:
        """The bracket's part below a source line."""
        if self._bracket is None:
            return Text("")
        inside = self._bracket.place.line <= number < self._bracket.place.end_line
        return Text(f"{self._canvas.glyphs.side if inside else ' '} ", style=self._bracket_style)

    def _bracket_end(self, mark: Mark) -> Iterator[Text]:
        glyphs, style = self._canvas.glyphs, self._bracket_style
        corner = f"{glyphs.bottom}{glyphs.reach}{'^' if mark.primary else '-'} "
        label = self._canvas.prose(mark.label, style)
        for position, line in enumerate(wrap(label, self._room - 2)):
            yield Text.assemble(self._gutter(), (corner if position == 0 else " " * len(corner), style), line)

    @property
    def _bracket_style(self) -> str:
        return self._style if self._bracket and self._bracket.primary else RELATED


def _bracketed(frame: Frame) -> Mark | None:
    """The mark whose lines get a bracket: there is room for one, and the primary comes first."""
    spans = [
        mark
        for mark in frame.marks
        if mark.spans_lines and {mark.place.line, mark.place.end_line} <= frame.lines.keys()
    ]
    return min(spans, key=lambda mark: not mark.primary, default=None)


@cache
def _highlighter() -> Callable[[str], Text]:
    from rich.syntax import Syntax  # brings pygments, which a report without colour need not wait for

    return Syntax("", "python", theme="ansi_dark").highlight


def highlighted(line: str) -> Text:
    """A line of Python in colour."""
    text = _highlighter()(line)
    text.rstrip()
    return text if text.plain == line else Text(line)
