"""A run that goes on, as a person sees it: a picture for a terminal, and lines for a log."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from autograd_doctor.findings import SEVERITIES
from autograd_doctor.monitoring.folder import Found
from autograd_doctor.monitoring.poll import Curve, Seen
from autograd_doctor.renderers.canvas import FAINT, SEVERITY_STYLES, Canvas
from autograd_doctor.renderers.curve_line import curve_line
from autograd_doctor.renderers.printable import one_line
from autograd_doctor.renderers.wording import line_of, seconds
from autograd_doctor.run_course import Series
from autograd_doctor.wording import in_bytes, plural

_LABELS = 16
"""Cells for the names of numbers."""
_MOST_CURVES = 3
_POINTS = 30
"""Between the ends of a curve: as many as a line shows one by one."""


def picture(canvas: Canvas, path: Path, run: Sequence[Seen], height: int) -> list[Text]:
    """As many lines as there is room for: what the run comes to, then its findings, the worst first."""
    first = run[0]
    lines = [*_heading(canvas, path, first), Text("")]
    lines += _numbers(canvas, first)
    lines += [line for other in run[1:] for line in _row(canvas, f"rank {other.about.rank}", _in_short(other))]
    found = findings(run)
    lines += [line for each in found for line in (Text(""), *_finding(canvas, each))]
    if not found:
        lines += [Text(""), canvas.prose("nothing was found so far", FAINT)]
    if len(lines) > height:
        lines = [*lines[: height - 1], Text(f"  {canvas.glyphs.cut}", FAINT)]
    return lines


def minute(run: Sequence[Seen]) -> str:
    """ "12 min 0 s: training, step 12,345, 41 steps a second, loss 0.0123, 1 finding"."""
    first = run[0]
    found = plural(len(findings(run)), "finding")
    ranks = [plural(len(run), "rank")] if len(run) > 1 else []
    return f"{lasted(first.lasted)}: {', '.join([_phase(first), *ranks, *_in_words(first), found])}"


def sentence(found: Found) -> str:
    """A finding on one line, as the format `concise` has it."""
    finding = found.finding
    where = f"{line_of(finding.location)}:{finding.location.column or 1}: " if finding.location else ""
    return one_line(f"{where}{finding.code} {finding.message or finding.title} [{finding.severity}]")


def findings(run: Sequence[Seen]) -> list[Found]:
    """Those of all ranks, the worst first; what several have found is one."""
    known: dict[str, Found] = {}
    for each in run:
        for found in each.found:
            known.setdefault(found.finding.fingerprint, found)
    return sorted(known.values(), key=lambda found: SEVERITIES.index(found.finding.severity))


def ending(seen: Seen) -> str:
    """How a process that is over has ended."""
    if seen.gone:
        return f"process {seen.about.process} is gone without a word: it was killed, or its machine was lost"
    return f"the recording has ended after {lasted(seen.lasted)}: {seen.about.how}"


def lasted(time: float) -> str:
    """ "42 s", "12 min 5 s", "31 h 4 min"."""
    if time < 3600:
        return seconds(float(int(time))) if time >= 120 else f"{int(time)} s"
    return f"{int(time) // 3600} h {int(time) % 3600 // 60} min"


# ---------------------------------------------------------------------------------------------------------------- parts


def _heading(canvas: Canvas, path: Path, seen: Seen) -> Iterator[Text]:
    about, separator = seen.about, f" {canvas.glyphs.separator} "
    yield from canvas.indented(canvas.prose(f"{about.target.name}{separator}{path}", "bold"))
    if seen.is_over:
        said = ending(seen)
    else:
        where = "" if about.host == socket.gethostname() else f" on {about.host}"
        how = "looking closely" if seen.close else "taking the pulse"
        facts = (f"running for {lasted(seen.lasted)}", _phase(seen), how, f"process {about.process}{where}")
        said = separator.join(facts)
    yield from canvas.beside(Text("  "), canvas.prose(said, "bold yellow" if seen.gone else FAINT))


def _numbers(canvas: Canvas, seen: Seen) -> Iterator[Text]:
    known = seen.numbers
    pace = f"{known.step:,}" + (f"   {seen.pace:.3g} a second" if seen.pace and not seen.is_over else "")
    yield from _row(canvas, "step", pace)
    for curve in seen.curves[:_MOST_CURVES]:
        name = "loss" if len(seen.curves) == 1 else f"loss {curve.line}"
        yield curve_line(canvas, _evenly(curve, name), _LABELS)
    told = {
        "loss": known.loss if not seen.curves else None,
        "gradient norm": known.gradient_norm,
        "update / weight": known.update_ratio,
        "learning rate": known.learning_rate,
    }
    for label, value in told.items():
        if value is not None:
            yield from _row(canvas, label, f"{value:.4g}")
    if known.memory is not None:
        yield from _row(canvas, "memory", in_bytes(known.memory))


def _evenly(curve: Curve, name: str) -> Series:
    """The highest loss of each stretch of as many steps, between the first and the last."""
    first, last = curve.steps[0], curve.steps[-1]
    highest: dict[int, tuple[int, float]] = {}
    for step, loss in list(zip(curve.steps, curve.values, strict=True))[1:-1]:
        stretch = (step - first) * _POINTS // max(1, last - first)
        if stretch not in highest or loss > highest[stretch][1]:
            highest[stretch] = (step, loss)
    points = [(first, curve.values[0]), *highest.values(), (last, curve.values[-1])]
    return Series(quantity="loss", name=name, steps=[step for step, _ in points], values=[value for _, value in points])


def _row(canvas: Canvas, label: str, said: str) -> Iterator[Text]:
    yield from canvas.beside(Text(f"    {label:<{_LABELS}}  "), canvas.prose(said))


def _finding(canvas: Canvas, found: Found) -> Iterator[Text]:
    finding = found.finding
    head = Text(f"{finding.severity}[{finding.code}]", SEVERITY_STYLES[finding.severity])
    title = canvas.prose(f" {finding.name}: {finding.title}", "bold")
    yield from canvas.indented(Text.assemble(head, title))
    where = f"--> {line_of(finding.location)}" if finding.location else "-->"
    yield from canvas.beside(Text("  "), canvas.prose(f"{where}, told in step {found.step:,}", FAINT))


def _in_short(seen: Seen) -> str:
    return ", ".join([ending(seen)] if seen.is_over else [_phase(seen), *_in_words(seen)])


def _in_words(seen: Seen) -> Iterator[str]:
    known = seen.numbers
    yield f"step {known.step:,}"
    if seen.pace and not seen.is_over:
        yield f"{seen.pace:.3g} steps a second"
    for label, value in (
        ("loss", known.loss),
        ("gradient norm", known.gradient_norm),
        ("learning rate", known.learning_rate),
    ):
        if value is not None:
            yield f"{label} {value:.4g}"
    if known.memory is not None:
        yield f"memory {in_bytes(known.memory)}"


def _phase(seen: Seen) -> str:
    return "over" if seen.is_over else seen.phase
