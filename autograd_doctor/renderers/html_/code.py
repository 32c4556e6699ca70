"""Code frames as pieces of text: what is underlined, and of which colour the syntax is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Number, Operator, String, _TokenType

from autograd_doctor.renderers.frames import Frame, Mark
from autograd_doctor.renderers.source_line import SourceLine, common_indent

_LONGEST = 2000
"""Characters of a line: beyond is no source that anybody reads."""
_COLOURS: tuple[tuple[_TokenType, str], ...] = (
    *((Keyword, "k"), (Operator.Word, "k"), (String, "s"), (Comment, "c"), (Number, "n")),
)


@dataclass(frozen=True)
class Piece:
    """Some characters of one kind: `colour` of the syntax, `mark` "primary", "related" or "" for those not meant."""

    text: str
    colour: str
    mark: str


@dataclass(frozen=True)
class CodeLine:
    """A line, the labels of what is marked in it, and whether lines before it are left out."""

    number: int
    pieces: list[Piece]
    labels: list[Mark]
    after_gap: bool


def code_lines(frame: Frame) -> list[CodeLine]:
    """The lines of a frame without the indentation that they share."""
    indent = common_indent(frame.lines.values())
    made: list[CodeLine] = []
    for number, text in frame.lines.items():
        marks = [mark for mark in frame.marks if mark.place.line <= number <= mark.place.end_line]
        line = SourceLine.of(text[:_LONGEST], indent, unicode=True)
        labels = [mark for mark in marks if mark.place.line == number]
        gap = bool(made) and number > made[-1].number + 1
        made.append(CodeLine(number, list(_pieces(line, number, marks)), labels, gap))
    return made


def unplaced(frame: Frame) -> list[Mark]:
    """The marks whose line cannot be shown."""
    return [mark for mark in frame.marks if mark.place.line not in frame.lines]


def _pieces(line: SourceLine, number: int, marks: Sequence[Mark]) -> Iterator[Piece]:
    marked = [""] * len(line.text)
    for mark in sorted(marks, key=lambda mark: mark.primary):
        first, end = _span(line, number, mark)
        for position in range(first, min(end, len(line.text))):
            marked[position] = "primary" if mark.primary else "related"
    kinds = zip(line.text, _colours(line.text), marked, strict=True)
    for (colour, mark_name), group in groupby(kinds, key=lambda each: each[1:]):
        yield Piece("".join(character for character, _, _ in group), colour, mark_name)


def _span(line: SourceLine, number: int, mark: Mark) -> tuple[int, int]:
    """The characters that are meant: of a span of several lines, the whole of those after its first."""
    if number == mark.place.line:
        return line.span(mark.place)
    return len(line.text) - len(line.text.lstrip()), len(line.text)


def _colours(text: str) -> list[str]:
    found = [""] * len(text)
    for start, kind, value in PythonLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text):
        colour = next((colour for parent, colour in _COLOURS if kind in parent), "")
        found[start : start + len(value)] = [colour] * len(value)
    return found[: len(text)]
