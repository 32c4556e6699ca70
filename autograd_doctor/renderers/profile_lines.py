"""A profile for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autograd_doctor.profiling import Profile
from autograd_doctor.renderers.canvas import FAINT, Canvas
from autograd_doctor.renderers.curve_line import curve_line
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.profile_tables import Table, pace, tables
from autograd_doctor.run_course import Course

_BAR = 20
_MOST_CURVES = 6
_NARROWEST = 16
"""Characters of a name in a terminal that has no room for it."""


def profile_lines(canvas: Canvas, profile: Profile, course: Course) -> Iterator[Text]:
    """How long an iteration takes, the tables, and gradients over the steps."""
    yield from canvas.beside(Text("  "), canvas.prose(pace(profile), "bold"))
    for table in tables(profile):
        yield Text("")
        yield Text(f"  {table.title}", style="bold")
        yield from _rows(canvas, table)
        for note in table.notes:
            yield from canvas.beside(Text("    "), canvas.prose(note, FAINT))
    norms = [each for each in course.series if each.quantity == "gradient norm"][:_MOST_CURVES]
    if norms:
        yield from (Text(""), Text("  gradient norm", style="bold"))
        width = max(len(printable(each.name, unicode=canvas.options.unicode)) for each in norms)
        yield from (curve_line(canvas, each, width) for each in norms)


def _rows(canvas: Canvas, table: Table) -> Iterator[Text]:
    """Columns as wide as what they hold, numbers to the right; long names are cut, and what is left of the words."""
    headed = [] if table.shares or len(table.head) < 3 else [["", *table.head[1:]]]
    cells = [[printable(one_line(cell), unicode=canvas.options.unicode) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*headed, *cells, strict=True)]
    numbers = sum(width + 2 for width in (widths[1:-1] if table.has_words else widths[1:]))
    widths[0] = min(widths[0], max(_NARROWEST, canvas.width - 4 - numbers))
    for row in headed:
        yield _row(canvas, row, widths, has_words=table.has_words, style=FAINT)
    for number, row in enumerate(cells):
        bar = _bar(canvas, table.shares[number]) if table.shares else ""
        yield _row(canvas, [*row[:-1], bar + row[-1]], widths, has_words=table.has_words)


def _row(canvas: Canvas, row: list[str], widths: list[int], *, has_words: bool, style: str = "") -> Text:
    name, *cells = row
    shown = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
    if has_words:
        shown[-1] = cells[-1]
    text = Text(f"    {'  '.join([_cut_in_the_middle(canvas, name, widths[0]), *shown])}".rstrip(), style=style)
    text.truncate(canvas.width, overflow="ellipsis" if canvas.options.unicode else "crop")
    return text


def _bar(canvas: Canvas, share: float) -> str:
    return f"{canvas.glyphs.block * max(1, round(share * _BAR)):<{_BAR}}  "


def _cut_in_the_middle(canvas: Canvas, name: str, width: int) -> str:
    """The ends of a path tell most."""
    if len(name) <= width:
        return name.ljust(width)
    kept = width - len(canvas.glyphs.cut)
    return f"{name[: kept // 2]}{canvas.glyphs.cut}{name[len(name) - (kept - kept // 2) :]}"
