"""One finding as a person reads it: headline, code frames, measurements, notes, help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from autograd_doctor.findings import Evidence, Fix
from autograd_doctor.renderers.canvas import FAINT, GUTTER, SEVERITY_STYLES, Canvas
from autograd_doctor.renderers.changes import NONE_MADE, called, described, diff_lines, others, verdict
from autograd_doctor.renderers.drawing import Drawing
from autograd_doctor.renderers.frames import Frame, Mark, frames
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.remarks import doubts, subject_of
from autograd_doctor.renderers.wording import line_of, measured
from autograd_doctor.report import Place, Report, ReportedFinding, Run, Tried

_DIFF = {"---": FAINT, "+++": FAINT, "@@": GUTTER, "-": "red", "+": "green"}


def finding_lines(canvas: Canvas, finding: ReportedFinding, report: Report) -> Iterator[Text]:
    """The finding from its headline to its help; source is looked up below the folder of the run."""
    made = frames(marks(finding), report.target.cwd)
    digits = _digits(made)
    yield from canvas.indented(_headline(canvas, finding, SEVERITY_STYLES[finding.severity]))
    yield from _frames(canvas, finding, made, digits)
    if finding.location is None:
        yield from canvas.beside(Text(" " * (digits + 1)), canvas.prose(finding.message))
    yield from _rows(canvas, finding, report.run, digits)
    yield from _change(canvas, finding, report, digits)


def places_of(canvas: Canvas, finding: ReportedFinding, cwd: str) -> Iterator[Text]:
    """The frames alone: each place of the finding in the user's source."""
    made = frames(marks(finding), cwd)
    return _frames(canvas, finding, made, _digits(made))


def _digits(made: Sequence[Frame]) -> int:
    """How wide the gutter is."""
    return max([2] + [len(str(number)) for frame in made for number in (*frame.lines, frame.anchor.line)])


def _frames(canvas: Canvas, finding: ReportedFinding, made: Sequence[Frame], digits: int) -> Iterator[Text]:
    for position, frame in enumerate(made):
        arrow = "-->" if position == 0 else ":::"
        yield from _frame(canvas, frame, digits, SEVERITY_STYLES[finding.severity], arrow)


def _headline(canvas: Canvas, finding: ReportedFinding, style: str) -> Text:
    code = Text(f"{finding.severity}[{finding.code}]", style=style)
    title = canvas.prose(one_line(finding.title), "bold")
    return Text.assemble(code, (f" {finding.name}: ", "bold"), title)


def marks(finding: ReportedFinding) -> list[Mark]:
    """Where the finding points at: its own place first, and what is said of each other place together."""
    primary = [Mark(finding.location, finding.message, primary=True)] if finding.location else []
    labels: dict[Place, list[str]] = {}
    for related in finding.related:
        labels.setdefault(related.location, []).append(related.message)
    return primary + [Mark(place, "; ".join(said), primary=False) for place, said in labels.items()]


def _frame(canvas: Canvas, frame: Frame, digits: int, style: str, arrow: str) -> Iterator[Text]:
    place = canvas.prose(where(frame.anchor))
    yield Text.assemble(" " * digits, (arrow, GUTTER), " ", place)
    if frame.lines:
        yield from Drawing(canvas, frame, digits, style).lines()
    for mark in frame.marks:
        if mark.place.line not in frame.lines:
            yield from canvas.beside(Text(" " * (digits + 1)), canvas.prose(mark.label))


def where(place: Place) -> str:
    """ "train.py:12:5 in main()"."""
    column = f":{place.column}" if place.column else ""
    function = f" in {place.function}()" if place.function else ""
    return one_line(f"{line_of(place)}{column}{function}")


def _rows(canvas: Canvas, finding: ReportedFinding, run: Run, digits: int) -> Iterator[Text]:
    if subject := subject_of(finding):
        yield from _row(canvas, digits, "subject", subject)
    if finding.evidence:
        yield from _table(canvas, digits, finding.evidence)
    for label, said in doubts(finding, run):
        yield from _row(canvas, digits, label, said)
    if finding.help:
        yield from _row(canvas, digits, "help", finding.help, "bold green")


def later_lines(canvas: Canvas, each: Tried) -> Iterator[Text]:
    """A change for what came to light only with the changes before, whose lines are counted then."""
    yield from canvas.indented(Text.assemble(("came to light: ", "bold"), canvas.prose(one_line(called(each)), "bold")))
    yield from _tried(canvas, each.fix, 2)


def _change(canvas: Canvas, finding: ReportedFinding, report: Report, digits: int) -> Iterator[Text]:
    """The change as a diff, what a run with it showed, and what else was tried."""
    if finding.fix is not None:
        yield from _tried(canvas, finding.fix, digits)
    elif report.fixing is not None:
        yield from _row(canvas, digits, "fix", NONE_MADE)
    for label, said in others(finding, report):
        yield from _row(canvas, digits, label, said)


def _tried(canvas: Canvas, fix: Fix, digits: int) -> Iterator[Text]:
    yield from _row(canvas, digits, "fix", described(fix), "bold green")
    yield from (Text.assemble(" " * (digits + 4), line) for line in _diff(canvas, fix))
    label, why = verdict(fix)
    if label:
        yield from _row(canvas, digits, label, why, "bold green" if label == "proven" else "bold yellow")


def _diff(canvas: Canvas, fix: Fix) -> Iterator[Text]:
    for line in diff_lines(fix):
        style = next((style for start, style in _DIFF.items() if line.startswith(start)), "")
        yield Text(printable(line, unicode=canvas.options.unicode), style=style)


def _row(canvas: Canvas, digits: int, label: str, text: str, style: str = "bold") -> Iterator[Text]:
    return canvas.beside(_label(digits, label, style), canvas.prose(text))


def _label(digits: int, label: str, style: str = "bold") -> Text:
    return Text.assemble(" " * digits, (" = ", GUTTER), (f"{label}: ", style))


def _table(canvas: Canvas, digits: int, evidence: Evidence) -> Iterator[Text]:
    label = _label(digits, "measured")
    rows = [
        measured(printable(one_line(name), unicode=canvas.options.unicode), value) for name, value in evidence.items()
    ]
    width = max(cell_len(name) for name, _ in rows)
    for position, (name, value) in enumerate(rows):
        before = label if position == 0 else " " * label.cell_len
        prefix = Text.assemble(before, name, " " * (width - cell_len(name) + 2))
        yield from canvas.beside(prefix, canvas.prose(one_line(value)))
