"""The report for a person at a terminal: what was run, each finding in the user's own source, what was not seen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.text import Text

from autograd_doctor.renderers import Options
from autograd_doctor.renderers.canvas import FAINT, GOOD, SEVERITY_STYLES, Canvas
from autograd_doctor.renderers.detail import finding_lines
from autograd_doctor.renderers.printable import one_line, printable
from autograd_doctor.renderers.wording import line_of, listed, stopped, summary
from autograd_doctor.report import Assumed, OptimizerFacts, Report
from autograd_doctor.wording import plural

NAME = "full"


def render(report: Report, options: Options) -> str:
    """A healthy run takes a few lines; anything else begins with a header and has a block for each finding."""
    canvas = Canvas(options)
    return canvas.text(_lines(canvas, report))


def _lines(canvas: Canvas, report: Report) -> Iterator[Text]:
    if report.findings or report.verdict != "passed":
        yield from _header(canvas, report)
        yield Text("")
    if report.assumed:
        yield from _assumed(canvas, report.assumed)
        yield Text("")
    for finding in report.findings:
        yield from finding_lines(canvas, finding, report.target.cwd)
        yield Text("")
    yield from _footer(canvas, report)


# ------------------------------------------------------------------------------------------------------------ header


def _header(canvas: Canvas, report: Report) -> Iterator[Text]:
    verb = "gradcheck" if _is_function(report) else "check -m" if isinstance(report.target.module, str) else "check"
    command = f"doctor {verb} {shlex.join(report.target.argv)}"
    yield from canvas.indented(Text.assemble(canvas.prose(one_line(command), "bold")))
    for facts in (_machine(report), _seen(report)):
        if facts:
            text = f" {canvas.glyphs.separator} ".join(facts)
            yield from canvas.beside(Text("  "), canvas.prose(text, FAINT))


def _assumed(canvas: Canvas, assumed: Assumed) -> Iterator[Text]:
    """What was assumed, and the settings to copy, whose lines are left as they are."""
    for number, said in enumerate(assumed.said):
        yield from canvas.beside(Text("  assumed  " if number == 0 else "           "), canvas.prose(said))
    yield from canvas.indented(canvas.prose("  settings that say the same, to keep or to change:", FAINT))
    for line in assumed.settings.splitlines():
        yield Text(f"    {printable(line, unicode=canvas.options.unicode)}")


def _is_function(report: Report) -> bool:
    return isinstance(report.target.function, str)


def _machine(report: Report) -> list[str]:
    about = report.environment
    if not about.torch:
        return []
    return [f"torch {about.torch} on {about.device}", f"Python {about.python}"]


def _seen(report: Report) -> list[str]:
    if _is_function(report):
        return []
    phases = ", ".join(report.run.phases_seen)
    facts = [f"{plural(report.run.steps, 'step')}{f' of {_optimizers(report)}' if report.run.optimizers else ''}"]
    some = 0 < report.run.steps_in_full < report.run.steps
    facts += [f"{report.run.steps_in_full} recorded in full"] if some else []
    return facts + ([f"saw {phases}"] if phases else []) + [stopped(report.run)]


def _optimizers(report: Report) -> str:
    return listed([_optimizer(each) for each in report.run.optimizers], 3)


def _optimizer(facts: OptimizerFacts) -> str:
    if not facts.kind:
        return facts.name
    return f"`{facts.name}` ({facts.kind})" if facts.name and facts.name != facts.kind else f"`{facts.kind}`"


# ------------------------------------------------------------------------------------------------------------ footer


def _footer(canvas: Canvas, report: Report) -> Iterator[Text]:
    yield from canvas.indented(_summary(canvas, report))
    rows = list(_rows(report))
    width = max((len(label) for label, _ in rows), default=0)
    for label, text in rows:
        yield from canvas.beside(Text(f"  {label:<{width}}  ", style=FAINT), canvas.prose(text, FAINT))


def _summary(canvas: Canvas, report: Report) -> Text:
    text = canvas.prose(one_line(summary(report)), "bold")
    if report.findings:
        text.stylize(SEVERITY_STYLES[report.findings[0].severity])
    elif report.verdict == "passed":
        text = Text.assemble((f"{canvas.glyphs.good} ", GOOD), text)
        text.stylize(GOOD)
    else:
        text.stylize(SEVERITY_STYLES["warning"])
    return text


def _rows(report: Report) -> Iterator[tuple[str, str]]:
    reasons: dict[str, list[str]] = {}
    for code, reason in report.checks.skipped.items() if not _is_function(report) else ():
        reasons.setdefault(reason, []).append(code)
    for reason, codes in reasons.items():
        yield "not checked", f"{reason}: {listed(codes, 4)}"
    for finding in report.suppressed:
        place = f" at {line_of(finding.location)}" if finding.location else ""
        reason = finding.suppressed.reason if finding.suppressed else ""
        yield "suppressed", f"{finding.code}{place}{f': {reason}' if reason else ''}"
    for note in report.notes:
        yield "note", note
    if report.run.steps:
        yield "cannot tell", _limits(report)
    elif _is_function(report) and report.verdict == "passed" and not report.findings:
        yield "cannot tell", "what other inputs bring: derivatives were measured at one point"
    yield from _next(report)


def _limits(report: Report) -> str:
    seen = "this one step" if report.run.steps == 1 else f"these {report.run.steps} steps"
    return f"what comes after {seen}, what other processes do, and whether the model learns well"


def _next(report: Report) -> Iterator[tuple[str, str]]:
    if report.findings:
        yield "next", f"doctor explain {report.findings[0].code}"
    elif _is_function(report):
        return
    elif report.verdict == "program-failed":
        yield "next", "make the program run by itself: what it wrote before it ended says why it failed"
    elif report.verdict == "not-judged" and not report.run.steps:
        alone = "have the program train in one process" if report.run.processes_started else "pass its arguments"
        yield "next", f"let the program reach its training: {alone}, raise `--max-seconds`"
